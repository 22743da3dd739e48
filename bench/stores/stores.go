// Package stores puts our store of limits and those of other libraries behind one function, so that the same loop
// times all of them. Limits are too high to bind: every decision admits and charges.
package stores

import "strconv"

// The population: token i belongs to account i/perAccount, the account to an organization of accounts, and the
// requests of an account come from one address.
const (
	perAccount      = 4
	perOrganization = 16
)

// Decide is one decision for token number i; false is a refusal, which no run should see.
type Decide func(i int) bool

// Decider makes a Decide for one goroutine. All of them decide over the same counters.
type Decider func() Decide

// Names are the string keys that other libraries count by. Ours are numbers that the guard knows once it knows the
// token, which is part of its lead and is how each is used.
type Names struct{ Token, Account func(i int) string }

// Fresh makes each name when it is asked for, as a middleware would.
func Fresh() Names {
	return Names{
		Token:   func(i int) string { return "token:" + strconv.Itoa(i+1) },
		Account: func(i int) string { return "account:" + strconv.Itoa(i/perAccount+1) },
	}
}

// TokensOnly counts by the token in both places, so that a token has one counter.
func (n Names) TokensOnly() Names { return Names{Token: n.Token, Account: n.Token} }

// Prepared has the names of so many tokens ready, so that a benchmark times decisions alone.
func Prepared(tokens int) Names {
	fresh := Fresh()
	byToken, byAccount := make([]string, tokens), make([]string, tokens/perAccount+1)
	for i := range byToken {
		byToken[i] = fresh.Token(i)
		if i%perAccount == 0 {
			byAccount[i/perAccount] = fresh.Account(i)
		}
	}
	return Names{
		Token:   func(i int) string { return byToken[i] },
		Account: func(i int) string { return byAccount[i/perAccount] },
	}
}
