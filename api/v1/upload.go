package v1

import (
	"io"
	"mime"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
)

// maxBoundary is longer than any client's boundary; RFC 2046 allows 70 characters.
const maxBoundary = 200

func (a *API) uploadRecording(c echo.Context, p auth.Principal, body io.Reader) error {
	boundary, err := formBoundary(c.Request().Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	accepted, err := a.recordings.Upload(c.Request().Context(), p, body, boundary)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusAccepted, uploadedOf(accepted))
}

// formBoundary reads what separates the parts of a multipart form.
func formBoundary(contentType string) (string, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" {
		return "", problems.New(problems.UnsupportedMediaType, "An upload is a form: send Content-Type: multipart/form-data.").Because(err)
	}
	boundary := params["boundary"]
	if boundary == "" || len(boundary) > maxBoundary {
		return "", problems.New(problems.BadRequest, "The Content-Type of the form names no usable boundary.")
	}
	return boundary, nil
}
