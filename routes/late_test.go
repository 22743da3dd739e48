package routes_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/limits"
)

const recorderPath = "/api/v1/integrations/recorder/upload"

// Rule: an answer of a row whose credential stands in its body, before anybody was admitted, is a fault of the program:
// nothing of it is sent. Credentials in other places admit nobody.
func TestAnAnswerWithoutAdmissionIsAFault(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	a := h.call("POST", recorderPath, bearer(h.token(1, "full")), cookie(h.session(1)))
	h.want(a, http.StatusInternalServerError, "internal")
	if strings.Contains(a.text, "user") {
		t.Errorf("the answer was sent: %s", a.text)
	}
	a = h.call("POST", recorderPath+"?admit="+h.token(1, "upload"))
	h.want(a, http.StatusOK, "")
	if a.json(t)["user"] != 1.0 || a.Header.Get("Vary") == "" {
		t.Errorf("%s, %v", a.text, a.Header)
	}
}

// neverRead fails the test that lets it be read.
type neverRead struct{ t testing.TB }

func (u neverRead) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func (neverRead) Close() error { return nil }

func declaring(t testing.TB, length int64) change {
	return func(r *http.Request) { r.Body, r.ContentLength = neverRead{t}, length }
}

// Rule: what an address sends is charged before a byte is read: the MiB that are declared, a tenth of the room at least,
// all of it where none are; what is over its bound charges nothing. (Must show 6)
func TestAnAddressIsChargedForWhatItDeclares(t *testing.T) {
	t.Parallel()
	room := map[*limits.Plan][]limits.Rate{limits.Recorder: perMinute(520)}
	for declared, left := range map[int64]string{0: "468", 1: "468", 52 << 20: "468", 52<<20 + 1: "467", 500 << 20: "20", 519<<20 + 1: "0", -1: "0"} {
		h := open(t, plan{figures: room, upload: 600 << 20})
		a := h.call("POST", recorderPath+"?admit="+h.token(1, "upload"), declaring(t, declared))
		h.want(a, http.StatusOK, "")
		if told := a.Header.Get("RateLimit"); !strings.Contains(told, `"recorder";r=`+left+";") {
			t.Errorf("%d bytes declared: %s, want %s units left", declared, told, left)
		}
	}
	h := open(t, plan{figures: room, upload: 600 << 20})
	good := recorderPath + "?admit=" + h.token(1, "upload")
	h.want(h.call("POST", good, declaring(t, 700<<20)), http.StatusRequestEntityTooLarge, "payload_too_large")
	h.want(h.call("POST", good, declaring(t, 500<<20)), http.StatusOK, "")
	a := h.call("POST", good, declaring(t, 500<<20))
	h.want(a, http.StatusTooManyRequests, "address_rate_limit_exceeded")
	if a.Header.Get("Retry-After") == "" {
		t.Errorf("no wait is told: %v", a.Header)
	}
	h.want(h.call("POST", good, declaring(t, 500<<20), from("192.0.2.9:1")), http.StatusOK, "")
}
