package servertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/described"
)

// Password is that of every account made by CreateUser.
const Password = "correct horse battery staple"

// CreateUser makes an account by the command, as an operator would.
func CreateUser(t testing.TB, environment Environment, email string, flags ...string) int64 {
	t.Helper()
	name := strings.ReplaceAll(email, "@", ".")
	arguments := append([]string{"user", "create", "--email", email, "--username", name}, flags...)
	id, err := strconv.ParseInt(Prepare(t, environment, Password+"\n", arguments...), 10, 64)
	if err != nil {
		t.Fatalf("user create printed no id: %v", err)
	}
	return id
}

// CreateToken makes a token by the command; without scopes it is full.
func CreateToken(t testing.TB, environment Environment, email string, scopes ...string) string {
	t.Helper()
	arguments := []string{"token", "create", "--user", email, "--name", "test"}
	if len(scopes) > 0 {
		arguments = append(arguments, "--scopes", strings.Join(scopes, ","))
	}
	return Prepare(t, environment, "", arguments...)
}

// Client calls one server with one credential.
type Client struct {
	t       testing.TB
	URL     string
	Header  http.Header
	HTTP    *http.Client
	Cookies []*http.Cookie
}

// Client calls this process with a token; an empty one sends no credential.
func (p *Process) Client(token string) *Client {
	client := ClientOf(p.t, p.URL)
	if token != "" {
		client.Header.Set("Authorization", "Bearer "+token)
	}
	return client
}

// ClientOf calls a server at this address without a credential. The test fails when an answer is not as the API's
// document says.
func ClientOf(t testing.TB, address string) *Client {
	return &Client{t: t, URL: address, Header: http.Header{}, HTTP: &http.Client{
		Timeout:       2 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     described.Over(t, &http.Transport{MaxIdleConnsPerHost: 64, Proxy: nil}),
	}}
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON decodes the body; it fails the test when the body is no JSON.
func (a Answer) JSON(t testing.TB) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(a.Body, &body); err != nil {
		t.Fatalf("the answer %d is no JSON object: %v: %.300s", a.Status, err, a.Body)
	}
	return body
}

// Code is the stable code of an error answer, in either of the two forms; empty in other answers.
func (a Answer) Code() string {
	var body struct{ Code string }
	if json.Unmarshal(a.Body, &body) == nil && body.Code != "" {
		return body.Code
	}
	var object struct{ Error struct{ Code string } }
	_ = json.Unmarshal(a.Body, &object)
	return object.Error.Code
}

func (a Answer) String() string { return fmt.Sprintf("%d %.500s", a.Status, a.Body) }

// Do sends one request. The body may be nil.
func (c *Client) Do(method, path string, body io.Reader, header http.Header) (Answer, error) {
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.URL+path, body)
	if err != nil {
		return Answer{}, err
	}
	for _, set := range []http.Header{c.Header, header} {
		for name, values := range set {
			request.Header[name] = values
		}
	}
	for _, cookie := range c.Cookies {
		request.AddCookie(cookie)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, content}, err
}

// Call is Do for a request that has to be answered.
func (c *Client) Call(method, path string, body io.Reader, header http.Header) Answer {
	c.t.Helper()
	answer, err := c.Do(method, path, body, header)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer
}

// Get reads a path.
func (c *Client) Get(path string) Answer {
	c.t.Helper()
	return c.Call(http.MethodGet, path, nil, nil)
}

// Send sends a JSON body; nil sends none.
func (c *Client) Send(method, path string, body any) Answer {
	c.t.Helper()
	if body == nil {
		return c.Call(method, path, nil, nil)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.Call(method, path, bytes.NewReader(encoded), http.Header{"Content-Type": {"application/json"}})
}

// Upload posts a file with form fields, the fields first.
func (c *Client) Upload(name string, content []byte, fields map[string]string) Answer {
	c.t.Helper()
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	for field, value := range fields {
		if err := writer.WriteField(field, value); err != nil {
			c.t.Fatal(err)
		}
	}
	part, err := writer.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = writer.Close()
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return c.Call(http.MethodPost, "/api/v1/recordings/upload", &form, http.Header{"Content-Type": {writer.FormDataContentType()}})
}

// SignIn opens a browser session; the answer's cookies are kept by the client.
func (c *Client) SignIn(email, password string) Answer {
	c.t.Helper()
	answer := c.Send(http.MethodPost, "/api/auth/login", map[string]string{"email": email, "password": password})
	if answer.Status == http.StatusOK {
		c.Cookies = (&http.Response{Header: answer.Header}).Cookies()
	}
	return answer
}

// AwaitStatus waits until a recording has one of the statuses and returns the status answer.
func (c *Client) AwaitStatus(id int64, patience time.Duration, wanted ...string) map[string]any {
	c.t.Helper()
	var last map[string]any
	Eventually(c.t, patience, fmt.Sprintf("recording %d is %s", id, strings.Join(wanted, " or ")), func() bool {
		answer := c.Get(fmt.Sprintf("/api/v1/recordings/%d/status", id))
		if answer.Status != http.StatusOK {
			return false
		}
		last = answer.JSON(c.t)
		for _, status := range wanted {
			if last["status"] == status {
				return true
			}
		}
		return false
	})
	return last
}
