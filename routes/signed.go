package routes

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/spool"
)

// The headers of a signed delivery. The signature is the HMAC-SHA256, by the integration's secret, over the id, a dot,
// the timestamp, a dot, and the body as it was sent, in lower-case hex behind "sha256=".
const (
	DeliveryHeader  = "X-Delivery-Id"
	TimestampHeader = "X-Timestamp"
	SignatureHeader = "X-Signature-256"

	signaturePrefix = "sha256="
	maxDeliveryID   = 100
	verifiedKey     = "routes.verified"
	// longestDelivery is how long a body may take: deliveries are remembered for longer, so that none can begin while it is
	// fresh and end when it is forgotten.
	longestDelivery = 12 * time.Hour
)

// SignedKeys finds the key of an integration by what stands in its address. ok is false where none counts now, also
// because its owner is disabled; an error means that it could not be told.
type SignedKeys interface {
	FindKey(ctx context.Context, integration string) (key auth.SignedKey, ok bool, err error)
}

// Signing is how signed deliveries are judged.
type Signing struct {
	Keys  SignedKeys
	Spool *spool.Spool
	// Window is how far a delivery's timestamp may be from now, on either side.
	Window time.Duration
}

// Verified is a delivery whose signature is that of its integration.
type Verified struct {
	IntegrationID int64
	Integration   string
	DeliveryID    string
	Body          *spool.File
	// Until is when no request that began while it was fresh can be under way any more.
	Until time.Time
}

// Signed declares a row whose requests are signed over their bytes as they arrive: nothing of a body is read as
// anything before its signature holds. Bodies are spooled, never held in memory.
func (t *Table) Signed(
	method, path string, scope auth.Scope, bound Bound, later budgets.Deferred,
	h func(echo.Context, auth.Principal, Verified) error, op Operation, opts ...Option,
) {
	row, spec := t.row(DoorSigned, method, path, op, opts)
	t.takesFile(&row, &spec, bound)
	row.Body = t.bounds.Upload
	spec.guard.Body = row.Body
	row.Price, row.Later = later.Price(), true
	row.Scopes, row.Category = []auth.Scope{scope}, auth.CategoryOf(scope)
	row.Stack = t.guard.LateStack(spec.guard, auth.SessionCallers, scope)
	guard := t.guard.RequireSignature(spec.guard, t.verify, scope)
	t.mount(row, t.spooled(guard), func(c echo.Context) error {
		verified, ok := c.Get(verifiedKey).(Verified)
		if !ok {
			return errors.New("a signed row was reached without a verified delivery")
		}
		return h(c, auth.PrincipalOf(c), verified)
	})
}

// spooled removes what verify has spooled, however the request ends.
func (t *Table) spooled(guard echo.MiddlewareFunc) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		guarded := guard(next)
		return func(c echo.Context) error {
			defer func() {
				verified, ok := c.Get(verifiedKey).(Verified)
				if !ok {
					return
				}
				if err := verified.Body.Close(); err != nil {
					t.logger.Warn("a spooled delivery could not be removed", "error", err.Error())
				}
			}()
			return guarded(c)
		}
	}
}

// verify judges a delivery: by its headers alone first, then by its bytes. nil is nobody's.
func (t *Table) verify(c echo.Context) (auth.Whose, error) {
	r, said, name := c.Request(), saidOf(c.Request()), c.Param("integration")
	if said.id == "" || len(said.signature) != sha256.Size || !t.fresh(said) || t.signing.Keys == nil {
		return nil, nil //nolint:nilnil // it is nobody's, and that is no fault of ours
	}
	key, found, err := t.signing.Keys.FindKey(r.Context(), name)
	if err != nil {
		return nil, err
	}
	if !found {
		// As much work as for one that there is: how long a refusal takes does not tell which there are.
		key = auth.SignedKey{Secrets: [][]byte{make([]byte, sha256.Size)}}
	}
	body, err := t.signing.Spool.Create(r.ContentLength)
	if err != nil {
		return nil, err
	}
	c.Set(verifiedKey, Verified{key.IntegrationID, key.Name, said.id, body, said.at.Add(t.signing.Window + 2*longestDelivery)})
	began := t.now()
	macs := make([]hash.Hash, 0, len(key.Secrets))
	to := []io.Writer{body}
	for _, secret := range key.Secrets {
		mac := hmac.New(sha256.New, secret)
		_, _ = io.WriteString(mac, said.id+"."+said.timestamp+".") // a hash never fails
		macs, to = append(macs, mac), append(to, mac)
	}
	if _, err := io.Copy(io.MultiWriter(to...), r.Body); err != nil {
		return nil, err
	}
	if t.now().Sub(began) > longestDelivery {
		return nil, problems.New(problems.RequestTimeout, "The body took longer than %s.", longestDelivery)
	}
	r.Body = io.NopCloser(strings.NewReader("")) // it was read whole
	for i, mac := range macs {
		if hmac.Equal(mac.Sum(nil), said.signature) && found {
			return t.whose(name, key, key.Secrets[i]), nil
		}
	}
	return nil, nil //nolint:nilnil // the same
}

// whose looks a signer up again: an integration may be gone, or its secret count no more, when its delivery is here.
func (t *Table) whose(name string, key auth.SignedKey, secret []byte) auth.Whose {
	return func(ctx context.Context) (auth.Signer, bool, error) {
		now, found, err := t.signing.Keys.FindKey(ctx, name)
		counts := found && now.IntegrationID == key.IntegrationID &&
			slices.ContainsFunc(now.Secrets, func(counting []byte) bool { return hmac.Equal(counting, secret) })
		return now.Signer, counts, err
	}
}

// said is what the headers of a delivery say.
type said struct {
	id, timestamp string
	at            time.Time
	signature     []byte
}

// saidOf reads the headers; a header that is missing, sent twice or of another form leaves its member empty.
func saidOf(r *http.Request) said {
	read := said{id: only(r, DeliveryHeader), timestamp: only(r, TimestampHeader)}
	if len(read.id) > maxDeliveryID || strings.ContainsFunc(read.id, func(c rune) bool { return c <= ' ' || c >= 127 || c == '.' }) {
		read.id = "" // a dot would let an id and a timestamp be read as others
	}
	if seconds, err := strconv.ParseInt(read.timestamp, 10, 64); err == nil {
		read.at = time.Unix(seconds, 0)
	}
	if digits, ok := strings.CutPrefix(only(r, SignatureHeader), signaturePrefix); ok {
		if signature, err := hex.DecodeString(digits); err == nil { // what stands before a fault is given with it
			read.signature = signature
		}
	}
	return read
}

func only(r *http.Request, header string) string {
	if values := r.Header.Values(header); len(values) == 1 {
		return values[0]
	}
	return ""
}

// fresh reports whether the timestamp is near enough to now, on either side.
func (t *Table) fresh(said said) bool {
	away := t.now().Sub(said.at)
	return away <= t.signing.Window && away >= -t.signing.Window
}
