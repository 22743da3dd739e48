package handlers

import (
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
)

// examplePlaintext has the length of a token and is none: its checksum is wrong.
const examplePlaintext = "stn_0000000000000000000000000000000000000000000000000"

func exampleNewToken() newToken {
	return newToken{
		Name: new("n8n"), ExpiresInDays: new(int64(90)), Scopes: routes.Given([]string{"read", "upload"}),
		RateLimits: routes.Given(map[string]string{"read": "60 per minute"}),
	}
}

func exampleTokenUpdate() tokenUpdate {
	return tokenUpdate{Name: new("n8n"), Scopes: routes.Given([]string{"read", "upload"})}
}

// exampleToken is the token of exampleNewToken; only the answer that creates one shows the plaintext.
func exampleToken(plaintext string) tokenForm {
	created := time.Date(2026, time.March, 4, 8, 0, 0, 0, time.UTC)
	expires := created.Add(90 * 24 * time.Hour)
	return tokenForm{
		ID: 4, Name: "n8n", CreatedAt: routes.Naive(created), ExpiresAt: routes.NaiveOrNull(&expires),
		Scopes: []string{"read", "upload"}, RateLimits: map[string]string{"read": "60 per minute"}, Token: plaintext,
	}
}

func exampleCurrentToken() currentTokenForm {
	created := time.Date(2026, time.March, 4, 8, 0, 0, 0, time.UTC)
	expires, used := created.Add(90*24*time.Hour), created.Add(2*time.Hour)
	return currentTokenForm{
		ID: 4, Name: "n8n", Scopes: []string{"read", "upload"}, CreatedAt: routes.Micro(created), ExpiresAt: routes.MicroOrNull(&expires),
		LastUsedAt: routes.MicroOrNull(&used), Via: auth.ViaHeader, RateLimits: map[string]string{"read": "60 per minute"},
	}
}
