package described

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Over passes a test's requests on, and fails the test when an answer is not as the committed document says.
func Over(t testing.TB, next http.RoundTripper) http.RoundTripper {
	t.Helper()
	return &transport{next, committed(t), func(err error) { t.Error(err) }}
}

// Recorded fails the test when an answer that was recorded without a network is not as the committed document says.
// Sent is the body of the request.
func Recorded(t testing.TB, request *http.Request, sent string, answer *httptest.ResponseRecorder) {
	t.Helper()
	err := committed(t).Check(Exchange{
		Method: request.Method, Path: request.URL.Path, Sent: []byte(sent),
		Status: answer.Code, Header: answer.Header(), Body: answer.Body.Bytes(),
	})
	if err != nil {
		t.Error(err)
	}
}

func committed(t testing.TB) *Document {
	t.Helper()
	document, err := Committed()
	if err != nil {
		t.Fatal(err)
	}
	return document
}
