package routes_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
)

// batching is a house with one batch row, whose handler answers with the body that it got.
func batching(t *testing.T, figures map[*limits.Plan][]limits.Rate) (*house, change) {
	t.Helper()
	row := bare("PATCH", "/api/v1/recordings/batch", auth.Write, func(c echo.Context, _ auth.Principal) error {
		got, err := io.ReadAll(c.Request().Body)
		if err != nil {
			return err
		}
		return c.String(200, string(got))
	}, routes.Weigh("recording_ids"))
	row.figures = figures
	h := open(t, row)
	return h, bearer(h.token(1, "write"))
}

func ids(from, to int) string {
	var list []string
	for id := from; id <= to; id++ {
		list = append(list, fmt.Sprint(id))
	}
	return strings.Join(list, ",")
}

// A batch weighs as many units as it names distinct ids, however it spells the member, and the handler gets the bytes
// that were sent.
func TestABatchWeighsItsDistinctIDs(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]struct {
		body   string
		weight int
	}{
		"distinct ids":       {`{"recording_ids":[1,2,3,3,2]}`, 3},
		"another spelling":   {`{"Recording_IDs":[1,2,3,4]}`, 4},
		"the last one wins":  {`{"recording_ids":[1,2,3,4],"recording_ids":[5,6]}`, 2},
		"no ids":             {`{"recording_ids":[]}`, 1},
		"ids that are none":  {`{"recording_ids":["1","2"]}`, 1},
		"what is not JSON":   {`{"recording_ids":[1,2`, 1},
		"another kind":       {`{"updates":{}}`, 1},
		"an empty body":      {``, 1},
		"more than a figure": {`{"recording_ids":[` + ids(1, 100) + `]}`, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, token := batching(t, map[*limits.Plan][]limits.Rate{limits.TokenWrite: perMinute(20), limits.AccountWrite: perMinute(500)})
			got := h.call("PATCH", "/api/v1/recordings/batch", token, body(batch.body))
			h.want(got, 200, "")
			if got.text != batch.body {
				t.Errorf("the handler got %q", got.text)
			}
			if want := fmt.Sprint(20 - batch.weight); got.Header.Get("X-RateLimit-Remaining") != want {
				t.Errorf("remaining %s, want %s", got.Header.Get("X-RateLimit-Remaining"), want)
			}
		})
	}
}

// In each limit a batch weighs at most that limit's figure, and is refused as a whole where that is not left.
func TestABatchThatDoesNotFitChargesNothing(t *testing.T) {
	t.Parallel()
	h, token := batching(t, map[*limits.Plan][]limits.Rate{limits.TokenWrite: perMinute(20), limits.AccountWrite: perMinute(500)})
	h.want(h.call("PATCH", "/api/v1/recordings/batch", token, body(`{"recording_ids":[1]}`)), 200, "")
	h.want(h.call("PATCH", "/api/v1/recordings/batch", token, body(`{"recording_ids":[`+ids(1, 20)+`]}`)), 429, "token_rate_limit_exceeded")
	last := h.call("PATCH", "/api/v1/recordings/batch", token, body(`{"recording_ids":[`+ids(1, 19)+`]}`))
	h.want(last, 200, "")
	if last.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("remaining %s, want 0", last.Header.Get("X-RateLimit-Remaining"))
	}
}

// More than a thousand distinct ids are 413 and charge nothing, as is a body over its bound.
func TestABatchThatIsTooLargeChargesNothing(t *testing.T) {
	t.Parallel()
	h, token := batching(t, map[*limits.Plan][]limits.Rate{limits.TokenWrite: perMinute(5000), limits.AccountWrite: perMinute(5000)})
	tooMany := h.call("PATCH", "/api/v1/recordings/batch", token, body(`{"recording_ids":[`+ids(1, 1001)+`]}`))
	h.want(tooMany, 413, "payload_too_large")
	if tooMany.json(t)["max_ids"] != 1000.0 {
		t.Errorf("the refusal is %s", tooMany.text)
	}
	undeclared := func(r *strings.Reader) change {
		return func(request *http.Request) {
			body("")(request)
			request.Body, request.ContentLength = io.NopCloser(r), -1
		}
	}
	h.want(h.call("PATCH", "/api/v1/recordings/batch", token, undeclared(strings.NewReader(strings.Repeat(" ", 3<<20)))), 413, "")
	whole := h.call("PATCH", "/api/v1/recordings/batch", token, body(`{"recording_ids":[`+ids(1, 1000)+`]}`))
	h.want(whole, 200, "")
	if whole.Header.Get("X-RateLimit-Remaining") != "4000" {
		t.Errorf("remaining %s, want 4000", whole.Header.Get("X-RateLimit-Remaining"))
	}
}
