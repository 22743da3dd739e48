package routes_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/spool"
)

// signed makes a request a delivery.
func signed(secret, id string, at time.Time, text string) change {
	return func(r *http.Request) {
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "%s.%d.%s", id, at.Unix(), text)
		body(text)(r)
		r.Header.Set(routes.DeliveryHeader, id)
		r.Header.Set(routes.TimestampHeader, fmt.Sprint(at.Unix()))
		r.Header.Set(routes.SignatureHeader, "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
}

// mailroom is a house that takes signed deliveries and says what it was given.
func mailroom(t *testing.T, most int64) (h *house, spooled *spool.Spool, dir string) {
	t.Helper()
	keys := &keyring{}
	keys.add("room", auth.SignedKey{
		IntegrationID: 3, Name: "Room", Secrets: [][]byte{[]byte("new"), []byte("old")}, Signer: auth.Signer{UserID: 1, OrganizationID: 10, Role: auth.RoleViewer},
	})
	dir = t.TempDir()
	spooled = spool.New(dir, most)
	h = open(t, plan{
		signing:  routes.Signing{Keys: keys, Spool: spooled, Window: time.Minute},
		figures:  map[*limits.Plan][]limits.Rate{limits.Recorder: perMinute(1_000_000)},
		timeouts: routes.Timeouts{BodyStall: 150 * time.Millisecond},
		declare: func(table *routes.Table, _ *house) {
			table.Signed("POST", "/hooks/:integration", auth.Upload, routes.MaxUpload, budgets.Later(budgets.Transcription),
				func(c echo.Context, p auth.Principal, v routes.Verified) error {
					text, err := io.ReadAll(v.Body.Reader())
					if err != nil {
						return err
					}
					return c.JSON(http.StatusOK, map[string]any{
						"user": p.UserID(), "read": p.MayRead(), "id": v.DeliveryID, "integration": v.IntegrationID, "text": string(text),
					})
				}, said)
		},
	})
	h.now = time.Now() // the table's clock
	return h, spooled, dir
}

// Rule: what is signed is the bytes as they arrive, with id and time; either key of a rotation counts; the caller may do
// what the row asks for and no more; nothing stays in the spool.
func TestASignedDelivery(t *testing.T) {
	t.Parallel()
	h, spooled, dir := mailroom(t, 1<<20)
	for _, secret := range []string{"new", "old"} {
		a := h.call("POST", "/hooks/room", signed(secret, "d-1", time.Now(), "\x00bytes"))
		h.want(a, http.StatusOK, "")
		if got := a.json(t); got["user"] != 1.0 || got["read"] != false || got["id"] != "d-1" || got["integration"] != 3.0 || got["text"] != "\x00bytes" {
			t.Errorf("%v", got)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 || spooled.Used() != 0 {
		t.Errorf("left %v, %d bytes, %v", left, spooled.Used(), err)
	}
}

// Rule: a delivery is fresh on either side of now, and for no longer than its window.
func TestADeliveryIsFresh(t *testing.T) {
	t.Parallel()
	h, _, _ := mailroom(t, 1<<20)
	for offset, want := range map[time.Duration]int{-55 * time.Second: 200, 55 * time.Second: 200, -65 * time.Second: 401, 65 * time.Second: 401} {
		if a := h.call("POST", "/hooks/room", signed("new", "d", time.Now().Add(offset), "x")); a.StatusCode != want {
			t.Errorf("%s from now: %d, want %d", offset, a.StatusCode, want)
		}
	}
}

// Rule: every fault is one identical 401, and leaves nothing behind.
func TestEveryFaultOfADeliveryIsTheSame(t *testing.T) {
	t.Parallel()
	h, spooled, _ := mailroom(t, 1<<20)
	now := time.Now()
	good := signed("new", "d", now, "text")
	var told string
	for name, changes := range map[string][]change{
		"no headers":        {body("text")},
		"another id":        {good, func(r *http.Request) { r.Header.Set(routes.DeliveryHeader, "e") }},
		"two ids":           {good, header(routes.DeliveryHeader, "d")},
		"id and time moved": {signed("new", "d.1", now, "text")},
		"a long id":         {signed("new", strings.Repeat("d", 101), now, "text")},
		"no time":           {good, func(r *http.Request) { r.Header.Set(routes.TimestampHeader, "now") }},
		"a changed body":    {good, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("tex!")) }},
		"a longer body":     {good, func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("text!")), 5 }},
		"a short signature": {good, func(r *http.Request) { r.Header.Set(routes.SignatureHeader, r.Header.Get(routes.SignatureHeader)[:20]) }},
		"two signatures in one": {good, func(r *http.Request) {
			r.Header.Set(routes.SignatureHeader, r.Header.Get(routes.SignatureHeader)+","+r.Header.Get(routes.SignatureHeader))
		}},
		"an empty signature": {good, func(r *http.Request) { r.Header.Set(routes.SignatureHeader, "sha256=") }},
		"a third key":        {signed("", "d", now, "text")},
		"another place":      {good, func(r *http.Request) { r.URL.Path = "/hooks/elsewhere" }},
	} {
		a := h.call("POST", "/hooks/room", changes...)
		h.want(a, http.StatusUnauthorized, "invalid_token")
		if told == "" {
			told = a.text
		}
		if a.text != told {
			t.Errorf("%s: %s, others are told %s", name, a.text, told)
		}
	}
	if spooled.Used() != 0 {
		t.Errorf("%d bytes stay in the spool", spooled.Used())
	}
}

// Rule: an integration that there is not costs as much as one that there is, so that the time of a refusal tells neither; no
// key is its key.
func TestAnUnknownIntegrationIsWeighedToo(t *testing.T) {
	t.Parallel()
	h, spooled, _ := mailroom(t, 1<<20)
	for _, secret := range []string{"new", "", string(make([]byte, sha256.Size))} {
		sent := strings.NewReader("text")
		a := h.call("POST", "/hooks/elsewhere", signed(secret, "d", time.Now(), "text"), func(r *http.Request) { r.Body = io.NopCloser(sent) })
		h.want(a, http.StatusUnauthorized, "invalid_token")
		if sent.Len() != 0 || spooled.Used() != 0 {
			t.Errorf("%d bytes were not read, %d stay in the spool", sent.Len(), spooled.Used())
		}
	}
}

// Rule: what there is no room for is refused before it is read, what is over its bound with 413; an encoding that nobody
// signed decides only after the signature.
func TestADeliveryIsBounded(t *testing.T) {
	t.Parallel()
	h, spooled, _ := mailroom(t, 200)
	others, err := spooled.Create(100)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := others.Write(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 101)
	a := h.call("POST", "/hooks/room", signed("new", "d", time.Now(), text), declaring(t, 101))
	h.want(a, http.StatusServiceUnavailable, "spool_full")
	if a.Header.Get("Retry-After") == "" {
		t.Error("no wait is told")
	}
	undeclared := func(r *http.Request) { r.ContentLength = -1 }
	h.want(h.call("POST", "/hooks/room", signed("new", "d", time.Now(), text), undeclared), http.StatusServiceUnavailable, "spool_full")
	h.want(h.call("POST", "/hooks/room", signed("new", "d", time.Now(), "x"), declaring(t, 1<<20+1)), http.StatusRequestEntityTooLarge, "payload_too_large")
	if err := others.Close(); err != nil {
		t.Error(err)
	}
	h.want(h.call("POST", "/hooks/room", signed("new", "d", time.Now(), text), declaring(t, 201)), http.StatusRequestEntityTooLarge, "payload_too_large")
	encoded := header("Content-Encoding", "gzip")
	h.want(h.call("POST", "/hooks/room", signed("new", "d", time.Now(), "x"), encoded), http.StatusUnsupportedMediaType, "unsupported_media_type")
	h.want(h.call("POST", "/hooks/room", signed("bad", "d", time.Now(), "x"), encoded), http.StatusUnauthorized, "invalid_token")
	if spooled.Used() != 0 {
		t.Errorf("%d bytes stay in the spool", spooled.Used())
	}
	large, _, _ := mailroom(t, 4<<20)
	large.want(large.call("POST", "/hooks/room", signed("new", "d", time.Now(), strings.Repeat("x", 1<<20+1)), undeclared), http.StatusRequestEntityTooLarge, "payload_too_large")
}

// Rule: a delivery that stands still, is cut short, or says no length and is too large is refused as an upload would be,
// and leaves nothing in the spool (H-057).
func TestADeliveryKeepsComing(t *testing.T) {
	t.Parallel()
	h, spooled, _ := mailroom(t, 4<<20)
	server := h.serve()
	head := func(length string) string {
		return fmt.Sprintf("POST /hooks/room HTTP/1.1\r\nHost: x\r\nX-Delivery-Id: d\r\nX-Timestamp: %d\r\nX-Signature-256: sha256=%064d\r\n%s\r\n\r\n", time.Now().Unix(), 0, length)
	}
	h.want(send(t, server, head("Content-Length: 100")+"12345"), http.StatusRequestTimeout, "request_timeout")
	h.want(send(t, server, head("Transfer-Encoding: chunked")+"zz\r\n"), http.StatusBadRequest, "bad_request")
	over := strings.Repeat("40000\r\n"+strings.Repeat("x", 0x40000)+"\r\n", 5)
	h.want(send(t, server, head("Transfer-Encoding: chunked")+over), http.StatusRequestEntityTooLarge, "payload_too_large")
	if spooled.Used() != 0 {
		t.Errorf("%d bytes stay in the spool", spooled.Used())
	}
}

// away is a database that does not answer.
type away struct{}

func (away) FindKey(context.Context, string) (auth.SignedKey, bool, error) {
	return auth.SignedKey{}, false, problems.New(problems.DatabaseUnavailable, "The database did not answer.").Because(errors.New("away"))
}

// Rule: a key that could not be looked up is 503, never 401.
func TestAKeyThatCannotBeFoundIsNoFaultOfTheSender(t *testing.T) {
	t.Parallel()
	h := open(t, plan{signing: routes.Signing{Keys: away{}, Spool: spool.New(t.TempDir(), 1), Window: time.Minute}})
	h.want(h.call("POST", "/hooks/room", signed("new", "d", time.Now(), "x")), http.StatusServiceUnavailable, "database_unavailable")
}
