package routes

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
)

// Weigh makes a row weigh as many units as its JSON body names distinct ids in a member, in each limit at most that
// limit's figure. The guard reads the body, within the row's bound, before it decides; the handler gets the same
// bytes. More than auth.MaxBatch ids are 413 and charge nothing. A body in which no ids can be read weighs one unit: the
// handler refuses it.
func Weigh(member string) Option {
	weigher := newWeigher(member)
	return func(s *rowSpec) { s.guard.Weigh, s.weighs = weigher.weigh, member }
}

// weigher counts the ids of one member.
type weigher struct {
	// body is a struct with the one field: encoding/json must find the member under every spelling under which it
	// would find it for the handler.
	body reflect.Type
}

func newWeigher(member string) weigher {
	return weigher{reflect.StructOf([]reflect.StructField{{
		Name: "IDs", Type: reflect.TypeFor[[]int64](), Tag: reflect.StructTag(`json:"` + member + `"`),
	}})}
}

// reads fills the struct; what it cannot read the handler refuses.
func (weigher) reads(body []byte, into reflect.Value) bool {
	return json.Unmarshal(body, into.Interface()) == nil
}

func (w weigher) weigh(c echo.Context) (int64, error) {
	request := c.Request()
	if !isJSON(request.Header.Get("Content-Type")) {
		return 1, nil
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return 0, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	read := reflect.New(w.body)
	if depth(body) > maxDepth || !w.reads(body, read) {
		return 1, nil
	}
	distinct := map[int64]bool{}
	for _, id := range read.Elem().Field(0).Seq2() {
		distinct[id.Int()] = true
	}
	if len(distinct) > auth.MaxBatch {
		return 0, problems.New(problems.PayloadTooLarge, "The request names %d ids; at most %d are taken at once.", len(distinct), auth.MaxBatch).
			With("max_ids", auth.MaxBatch)
	}
	return max(1, int64(len(distinct))), nil
}
