package limits

import "github.com/stenometer/stenometer/problems"

// The plans. One line here is one limit; the figure in force comes from the configuration, and the route walk
// finds a new plan through the rows that it stands on.
var (
	TokenRead    = &Plan{"token_read", "read", Token, problems.TokenRateLimited, "Requests of one token that read."}
	TokenWrite   = &Plan{"token_write", "write", Token, problems.TokenRateLimited, "Requests of one token that change, upload, share or delete."}
	TokenProcess = &Plan{"token_process", "process", Token, problems.TokenRateLimited, "Requests of one token that start paid work."}

	AccountRead    = &Plan{"account_read", "read", Account, problems.AccountRateLimited, "Requests that read, of all tokens of one account together."}
	AccountWrite   = &Plan{"account_write", "write", Account, problems.AccountRateLimited, "Requests that change, upload, share or delete, of all tokens of one account together."}
	AccountProcess = &Plan{"account_process", "process", Account, problems.AccountRateLimited, "Requests that start paid work, of all tokens of one account together."}

	OrganizationAI = &Plan{"organization_ai", "ai", Organization, problems.OrganizationRateLimited, "Requests of a whole organization that start paid work, by token or session."}
	UserAI         = &Plan{"user_ai", "ai", Account, problems.UserAIRateLimited, "Requests of one account that start paid work, by token or session."}
	AddressAI      = &Plan{"address_ai", "ai", Address, problems.AddressRateLimited, "Requests from one address that start paid work, by token or session."}

	Status      = &Plan{"status", "status", Account, problems.UserRateLimited, "Status requests of one account, counted here in place of the read limits."}
	Search      = &Plan{"search", "search", Account, problems.UserRateLimited, "Searches of one account, besides its read limits."}
	Import      = &Plan{"import", "import", Account, problems.UserRateLimited, "Requests of one account by which this server calls others."}
	TokenCreate = &Plan{"token_create", "token_create", Account, problems.UserRateLimited, "Tokens that one account creates over HTTP."}
	TokenChange = &Plan{"token_change", "token_change", Account, problems.UserRateLimited, "Tokens that one account changes, rotates or revokes."}

	SessionAddress = &Plan{"session_address", "session", Address, problems.AddressRateLimited, "Requests from one address with a cookie or without a credential, never with a token."}
	PublicAddress  = &Plan{"public_address", "public", Address, problems.AddressRateLimited, "Requests from one address that present a token where none is looked at."}
	Login          = &Plan{"login", "login", Address, problems.AddressRateLimited, "Attempts to sign in from one address."}
	LoginFailures  = &Plan{"login_failures", "login_failures", Address, problems.AddressRateLimited, "Failed attempts to sign in to one account from one address."}
	Register       = &Plan{"register", "register", Address, problems.AddressRateLimited, "Registrations from one address."}
	Recorder       = &Plan{"recorder", "recorder", Address, problems.AddressRateLimited, "What recorders send from one address before their secret is known, in units of a MiB."}
	AuthFailures   = &Plan{"auth_failures", "unauthorized", Address, problems.AddressRateLimited, "Answers 401 to one address; a valid credential is never refused by it."}
)

// Plans lists every plan in the order in which the user guide shows them.
func Plans() []*Plan {
	return []*Plan{
		TokenRead, TokenWrite, TokenProcess, AccountRead, AccountWrite, AccountProcess,
		OrganizationAI, UserAI, AddressAI, Status, Search, Import, TokenCreate, TokenChange,
		SessionAddress, PublicAddress, Recorder, Login, LoginFailures, Register, AuthFailures,
	}
}

// PlanNamed is the plan of a name; nil when there is none.
func PlanNamed(name string) *Plan {
	for _, plan := range Plans() {
		if plan.Name == name {
			return plan
		}
	}
	return nil
}

// precedence settles which of several limits with the same wait a refusal names: the lowest. It goes by the kind,
// so that callers always read the code of the widest limit that they can do something about.
func (p *Plan) precedence() int {
	switch p.Kind {
	case problems.AccountRateLimited:
		return 0
	case problems.TokenRateLimited:
		return 1
	case problems.OrganizationRateLimited:
		return 2
	case problems.UserAIRateLimited:
		return 3
	case problems.UserRateLimited:
		return 4
	}
	return 5
}
