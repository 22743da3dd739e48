package routes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/idempotency"
	"github.com/stenometer/stenometer/problems"
)

const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotent-Replayed"
	// keepTimeout bounds what is still done for a key when the request's own time is over.
	keepTimeout = 5 * time.Second
)

// IdempotencyKey reads the key of a request; empty for none. A key that is too long, is no text, or was sent twice
// with two values is refused.
func IdempotencyKey(r *http.Request) (string, error) {
	var key string
	for _, sent := range r.Header[keyHeader] {
		sent = strings.TrimSpace(sent)
		if sent != "" && key != "" && sent != key {
			return "", problems.New(problems.InvalidParameter, "%s was sent with two values.", keyHeader)
		}
		if sent != "" {
			key = sent
		}
	}
	if !utf8.ValidString(key) || strings.ContainsRune(key, 0) || utf8.RuneCountInString(key) > idempotency.MaxKey {
		return "", problems.New(problems.InvalidParameter, "%s must be at most %d characters of text.", keyHeader, idempotency.MaxKey)
	}
	return key, nil
}

// idempotent works a request that bears a key once: who sends the same again gets the same answer, as long as it is
// kept. More is what its time exceeds that of other rows by. Only answers that another attempt would not better are
// kept: successes, and refusals of the request itself.
func (t *Table) idempotent(more time.Duration, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		key, err := IdempotencyKey(c.Request())
		if err != nil {
			return err
		}
		if key == "" {
			return next(c)
		}
		claim, err := t.claim(c, key, more)
		if err != nil {
			return err
		}
		if claim.Kept != nil {
			c.Response().Header().Set(replayedHeader, "true")
			return c.Blob(claim.Kept.Status, claim.Kept.ContentType, claim.Kept.Body)
		}
		return t.workOnce(c, claim, next)
	}
}

// claim takes the key for this request, which is known by its method, path, query and body.
func (t *Table) claim(c echo.Context, key string, more time.Duration) (*idempotency.Claim, error) {
	r := c.Request()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s?%s\n", r.Method, r.URL.Path, r.URL.RawQuery)
	hash.Write(body)
	about, err := strconv.ParseInt(c.Param("recording"), 10, 64)
	if err != nil {
		about = 0 // the row is about no one recording
	}
	return t.keys.Claim(r.Context(), auth.PrincipalOf(c).UserID(), key, hex.EncodeToString(hash.Sum(nil)), about, more)
}

// workOnce runs the handler under a claim. The answer is kept before it is sent, so that whoever has it in hand can
// ask for it again.
func (t *Table) workOnce(c echo.Context, claim *idempotency.Claim, next echo.HandlerFunc) error {
	response, request := c.Response(), c.Request()
	writer := response.Writer
	held := &heldAnswer{header: writer.Header()}
	response.Writer = held
	c.SetRequest(request.WithContext(idempotency.With(request.Context(), claim)))
	kept := false
	defer func() {
		response.Writer = writer
		c.SetRequest(request)
		if !kept {
			t.settleKey(c, claim.Release)
		}
	}()
	err := next(c)
	answer, worthKeeping := held.answer(), held.status != 0
	if err != nil {
		answer, worthKeeping = t.refusalToKeep(c, err)
	}
	if worthKeeping {
		kept = true
		t.settleKey(c, func(ctx context.Context) error { return claim.Keep(ctx, answer) })
	}
	if err != nil || held.status == 0 {
		return err
	}
	writer.WriteHeader(held.status)
	_, err = writer.Write(held.body.Bytes())
	return err
}

// settleKey ends a claim, also when the request's own time is over. A key that cannot be settled is free again when
// its hold ends.
func (t *Table) settleKey(c echo.Context, settle func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), keepTimeout)
	defer cancel()
	if err := settle(ctx); err != nil {
		t.logger.WarnContext(ctx, "an idempotency key could not be settled", "route", c.Path(), "error", err.Error())
	}
}

// refusalToKeep is the answer that an error becomes, where it is the request's own fault.
func (t *Table) refusalToKeep(c echo.Context, err error) (answer idempotency.Answer, worthKeeping bool) {
	var known *problems.Error
	if !errors.As(err, &known) || clientGone(c, err) {
		return idempotency.Answer{}, false
	}
	switch status := known.Kind.Status(); {
	case status < 400 || status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests,
		status == http.StatusPaymentRequired, // the budget may be raised, and holds end
		known.Kind == problems.IdempotencyInProgress:
		return idempotency.Answer{}, false
	}
	body, err := json.Marshal(refusalBody(c, known.Kind, known, ""))
	if err != nil {
		return idempotency.Answer{}, false
	}
	return idempotency.Answer{Status: known.Kind.Status(), ContentType: echo.MIMEApplicationJSON, Body: append(body, '\n')}, true
}

// heldAnswer holds an answer back until it is kept.
type heldAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *heldAnswer) Header() http.Header { return h.header }

func (h *heldAnswer) WriteHeader(status int) { h.status = status }

func (h *heldAnswer) Write(p []byte) (int, error) {
	if h.status == 0 {
		h.status = http.StatusOK
	}
	return h.body.Write(p)
}

func (h *heldAnswer) answer() idempotency.Answer {
	return idempotency.Answer{Status: h.status, ContentType: h.header.Get(echo.HeaderContentType), Body: h.body.Bytes()}
}
