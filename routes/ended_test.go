package routes_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/spool"
)

// once does something when the first of its bytes is read, as if that happened while a body arrives.
type once struct {
	io.Reader
	do func()
}

func (o *once) Read(p []byte) (int, error) {
	if o.do != nil {
		o.do()
		o.do = nil
	}
	return o.Reader.Read(p) //nolint:wrapcheck // it stands in for the body
}

// Rule: who was let in by a form's first field is asked for again when the file is here: a token that ended meanwhile is the
// same 401 as one that was never there.
func TestWhoIsLetInByAFormMayBeOutBeforeItsFileIsHere(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*auth.Token){
		"revoked":  func(token *auth.Token) { token.Revoked = true },
		"disabled": func(token *auth.Token) { token.OwnerDisabled = true },
		"narrowed": func(token *auth.Token) { token.Scopes = auth.ParseScopes("read") },
		"":         func(*auth.Token) {},
	}
	for name, end := range ends {
		var token string
		h := open(t, plan{declare: func(table *routes.Table, h *house) {
			table.Late("POST", recorderPath, auth.Upload, routes.MaxUpload, budgets.Later(budgets.Transcription), func(c echo.Context, late auth.Late) error {
				p, err := late.Admit(c.Request().Context(), c.QueryParam("admit"))
				if err != nil {
					return err
				}
				h.finder.Change(token, end)
				if _, err := p.Present(c.Request().Context()); err != nil {
					return err
				}
				return c.JSON(http.StatusOK, nil)
			}, said)
		}})
		token = h.token(1, "upload")
		a := h.call("POST", recorderPath+"?admit="+token)
		if name == "" {
			h.want(a, http.StatusOK, "")
			continue
		}
		h.want(a, http.StatusUnauthorized, "invalid_token")
		if unknown := h.call("POST", recorderPath+"?admit=none"); unknown.text != a.text {
			t.Errorf("%s: told %s, an unknown one %s", name, a.text, unknown.text)
		}
	}
}

// Rule: whose a delivery is, is asked again when its body is here, and for as long as anything is done with it: an account
// that was disabled meanwhile, an integration that was deleted, a secret that counts no more.
func TestASignerIsWhoItIsWhenTheBodyIsHere(t *testing.T) {
	t.Parallel()
	key := auth.SignedKey{IntegrationID: 3, Secrets: [][]byte{[]byte("new"), []byte("old")}, Signer: auth.Signer{UserID: 1, OrganizationID: 10}}
	rotated := key
	rotated.Secrets = key.Secrets[:1]
	ends := map[string]func(*keyring){
		"stays":   func(*keyring) {},
		"gone":    func(keys *keyring) { keys.remove("room") },
		"rotated": func(keys *keyring) { keys.add("room", rotated) },
		"another": func(keys *keyring) {
			keys.add("room", auth.SignedKey{IntegrationID: 4, Secrets: key.Secrets, Signer: key.Signer})
		},
	}
	for name, end := range ends {
		for _, late := range []bool{false, true} {
			keys := &keyring{}
			keys.add("room", key)
			h := open(t, plan{
				signing: routes.Signing{Keys: keys, Spool: spool.New(t.TempDir(), 1<<20), Window: time.Minute},
				figures: map[*limits.Plan][]limits.Rate{limits.Recorder: perMinute(1_000_000)},
				declare: func(table *routes.Table, _ *house) {
					table.Signed("POST", "/hooks/:integration", auth.Upload, routes.MaxUpload, budgets.Later(budgets.Transcription),
						func(c echo.Context, p auth.Principal, _ routes.Verified) error {
							if late {
								end(keys)
							}
							now, err := p.Present(c.Request().Context())
							if err == nil && now.UserID() != 1 {
								err = errors.New("it is another's")
							}
							if err != nil {
								return err
							}
							return c.NoContent(http.StatusNoContent)
						}, said)
				},
			})
			a := h.call("POST", "/hooks/room", signed("old", "d", time.Now(), "text"), func(r *http.Request) {
				if !late {
					r.Body = io.NopCloser(&once{strings.NewReader("text"), func() { end(keys) }})
				}
			})
			if want := map[bool]int{true: http.StatusNoContent, false: http.StatusUnauthorized}[name == "stays"]; a.StatusCode != want {
				t.Errorf("%s, late %t: %d %s", name, late, a.StatusCode, a.text)
			}
		}
	}
}
