package routes

import (
	"mime"
	"net/http"

	"github.com/stenometer/stenometer/problems"
)

// maxBoundary is longer than any client's boundary; RFC 2046 allows 70 characters.
const maxBoundary = 200

// FormBoundary reads what separates the parts of a request's multipart form.
func FormBoundary(r *http.Request) (string, error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return "", problems.New(problems.UnsupportedMediaType, "An upload is a form: send Content-Type: multipart/form-data.").Because(err)
	}
	boundary := params["boundary"]
	if boundary == "" || len(boundary) > maxBoundary {
		return "", problems.New(problems.BadRequest, "The Content-Type of the form names no usable boundary.")
	}
	return boundary, nil
}
