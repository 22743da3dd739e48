package probe

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
)

// late: rows whose credential comes with the body. Nothing else lets anybody in, whatever is wrong is one identical 401,
// and size and address are judged before a byte is read.
func (s *subject) late() {
	if s.row.Door == routes.DoorSigned {
		if err := s.mintKey(); err != nil {
			s.err = err
			return
		}
		s.path = strings.Replace(s.row.Path, ":integration", s.integration, 1)
	}
	h, good := s.handler(roomy()), s.lateGood()
	s.allowed("what its body proves", s.try(h, good))
	var first string
	wrong := s.lateWrong()
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		r := s.try(h, wrong[name])
		s.refused(name, r, unauthorized, "invalid_token")
		if first == "" {
			first = fmt.Sprint(r.body)
		}
		s.expect(name+" is told as the others are", fmt.Sprint(r.body) == first, text(fmt.Sprint(r.body)))
	}
	s.lateBody(h, good)
	s.lateFailures(good)
	s.lateStack(good)
	for _, plan := range s.lateExpected() {
		s.lateLayer(plan, good)
	}
}

// lateGood is a trial that the row must let in.
func (s *subject) lateGood() trial {
	if s.row.Door == routes.DoorSigned {
		return trial{signed: s.delivery()}
	}
	return trial{secret: s.token(s.scopeNames())}
}

// lateWrong are trials that it must not let in: bad credentials in the right place, and good ones in every other.
func (s *subject) lateWrong() map[string]trial {
	full := s.token("full")
	wrong := map[string]trial{
		"nothing":                  {},
		"a token in a header":      {bearer: full},
		"a session":                {cookie: s.session()},
		"a token in a query":       {query: full},
		"a signature without form": {headers: map[string]string{routes.SignatureHeader: "sha256="}},
	}
	if s.row.Door != routes.DoorSigned {
		wrong["an unknown secret"] = trial{secret: unknownToken()}
		wrong["an expired secret"] = trial{secret: s.expired}
		wrong["a revoked secret"] = trial{secret: s.revoked}
		wrong["a secret without the scope"] = trial{secret: s.token(s.otherScopes())}
		wrong["a wrong secret beside a good token"] = trial{secret: unknownToken(), bearer: full}
		return wrong
	}
	for name, spoil := range map[string]func(*delivery){
		"another key":                       func(d *delivery) { d.secret = []byte("another") },
		"a body that was changed":           func(d *delivery) { d.sent = append([]byte("x"), d.body...) },
		"an id that was changed":            func(d *delivery) { d.sentID = "other" },
		"a timestamp that was changed":      func(d *delivery) { d.sentAt = d.at.Add(time.Second) },
		"a timestamp of long ago":           func(d *delivery) { d.at = d.at.Add(-24 * time.Hour); d.sentAt = d.at },
		"a timestamp that is far away":      func(d *delivery) { d.at = d.at.Add(24 * time.Hour); d.sentAt = d.at },
		"a signature of another form":       func(d *delivery) { d.prefix = "sha1=" },
		"an id of more than one word":       func(d *delivery) { d.id = "a b"; d.sentID = d.id },
		"a delivery to another integration": func(d *delivery) { d.to = "nobody" },
	} {
		spoiled := s.delivery()
		spoil(spoiled)
		wrong[name] = trial{signed: spoiled}
	}
	return wrong
}

// lateBody: the size that is declared is judged before anything else, and so is, on a form, an encoding.
func (s *subject) lateBody(h http.Handler, good trial) {
	over := trial{declared: s.row.Body + 1}
	r := s.try(h, over)
	s.refused("a body declared one byte over its bound", r, tooLarge, "payload_too_large")
	s.expect("a refusal by size consults no limit", r.header.Get("RateLimit") == "", text(r.header.Get("RateLimit")))
	encoded := good
	encoded.headers = map[string]string{"Content-Encoding": "gzip"}
	s.refused("an encoded body", s.try(h, encoded), http.StatusUnsupportedMediaType, "unsupported_media_type")
	if s.row.Body <= largestBody {
		good.sent = s.row.Body + 1
		s.refused("an undeclared body over its bound", s.try(h, good), tooLarge, "payload_too_large")
	}
}

// lateFailures: 401s are counted by address, and a valid credential is never refused for them.
func (s *subject) lateFailures(good trial) {
	figures := roomy()
	figures[limits.AuthFailures] = one()
	h := s.handler(figures)
	good.from = s.newAddress()
	s.refused("the first 401 of an address", s.try(h, trial{from: good.from}), unauthorized, "invalid_token")
	s.refused("a 401 beyond the limit", s.try(h, trial{from: good.from}), http.StatusTooManyRequests, limits.AuthFailures.Kind.Code())
	s.allowed("a valid credential beyond the limit of 401s", s.try(h, good))
}

// lateStack: an answer names exactly the limits that must apply.
func (s *subject) lateStack(good trial) {
	var want []string
	for _, plan := range s.lateExpected() {
		want = append(want, plan.Name)
	}
	slices.Sort(want)
	got := slices.Sorted(maps.Keys(remaining(s.try(s.handler(roomy()), good))))
	s.expect("the limits of a request by its body", slices.Equal(got, want), text(strings.Join(got, " ")))
}

// roomy are figures that no late request runs into: one may weigh hundreds of units.
func roomy() limits.Figures {
	figures := Ample()
	figures[limits.Recorder] = []limits.Rate{{Limit: 1_000_000, Period: time.Minute}}
	return figures
}

// lateLayer: one limit has room for one request. Where it is the address's, nothing else was asked; where it is the
// caller's, the caller's others are as they were.
func (s *subject) lateLayer(plan *limits.Plan, t trial) {
	figures := roomy()
	figures[plan] = one()
	h := s.handler(figures)
	t.from = s.newAddress()
	first := s.try(h, t)
	s.allowed("the limit "+plan.Name+" by its body with room for one", first)
	if s.row.Door == routes.DoorSigned {
		t.signed = s.delivery()
	}
	second := s.try(h, t)
	limit, _ := second.body["limit"].(map[string]any)
	check := "the limit " + plan.Name + " by its body without room"
	s.expect(check, second.status == http.StatusTooManyRequests && second.code == plan.Kind.Code() && limit["name"] == plan.Name, second)
	s.expect(check+" tells the wait", second.header.Get("Retry-After") != "", text("no Retry-After"))
	before, after := remaining(first), remaining(second)
	for other, left := range before {
		switch {
		case other == plan.Name || other == limits.Recorder.Name:
		case plan == limits.Recorder:
			s.expect(check+" asks no other", after[other] == "", text(after[other]))
		default:
			s.expect(check+" leaves "+other+" as it was", after[other] == left, text(left+" became "+after[other]))
		}
	}
}

// lateExpected is the stack as the product states it.
func (s *subject) lateExpected() []*limits.Plan {
	plans := []*limits.Plan{limits.AccountWrite, limits.Recorder}
	if s.row.Door == routes.DoorLate {
		plans = append(plans, limits.TokenWrite)
	}
	return plans
}

// form makes the request one with a secret before a file of as many bytes as are to be sent.
func (t trial) form(request *http.Request) {
	var before bytes.Buffer
	form := multipart.NewWriter(&before)
	_ = form.WriteField("secret", t.secret) // a buffer takes everything
	_, _ = form.CreateFormFile("file", "a.wav")
	request.Header.Set("Content-Type", form.FormDataContentType())
	after := "\r\n--" + form.Boundary() + "--\r\n"
	request.Body = io.NopCloser(io.MultiReader(&before, io.LimitReader(zeros{}, t.sent), strings.NewReader(after)))
	request.ContentLength = -1
}

// delivery is a signed request. What is signed and what is sent are the same unless a check makes them differ.
type delivery struct {
	to, prefix string
	secret     []byte
	id, sentID string
	at, sentAt time.Time
	body, sent []byte
}

func (s *subject) delivery() *delivery {
	now := time.Now()
	return &delivery{prefix: "sha256=", secret: s.key, id: "d1", sentID: "d1", at: now, sentAt: now, body: []byte("said"), sent: []byte("said")}
}

func (d *delivery) onto(request *http.Request) {
	seconds := func(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }
	mac := hmac.New(sha256.New, d.secret)
	fmt.Fprintf(mac, "%s.%s.%s", d.id, seconds(d.at), d.body)
	request.Header.Set(routes.DeliveryHeader, d.sentID)
	request.Header.Set(routes.TimestampHeader, seconds(d.sentAt))
	request.Header.Set(routes.SignatureHeader, d.prefix+hex.EncodeToString(mac.Sum(nil)))
	if request.Body == nil || request.Body == http.NoBody {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(d.sent)), int64(len(d.sent))
	}
	if d.to != "" {
		request.URL.Path = "/hooks/" + d.to
	}
}

func (w *walk) mintKey() (err error) {
	if w.key != nil {
		return nil
	}
	w.integration, w.key, err = w.target.Credentials.Key()
	if err != nil {
		return fmt.Errorf("make an integration: %w", err)
	}
	return nil
}
