package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: one table a fact. The roles that OIDC_ROLE_MAP may give are those that can be assigned.
func TestMappedRolesAreTheAssignableOnes(t *testing.T) {
	t.Parallel()
	if got, want := config.MappedRoles(), auth.AssignableRoles(); !slices.Equal(got, want) {
		t.Errorf("the map gives %v, assignable are %v", got, want)
	}
}

// publicHost is where browsers of these tests find the server, whose port is not known before it starts.
const publicHost = "notes.test"

// startIssuer runs the issuer of tests/clients, under its own address or another that leads to it.
func startIssuer(t *testing.T, called ...string) string {
	t.Helper()
	command := node(t, append([]string{"clients/issuer.mjs", "http://" + publicHost + "/api/auth/oidc/callback"}, called...)...)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("the issuer did not start: %v", err)
	}
	return strings.TrimSpace(address)
}

// window is a browser: it keeps cookies, and follows where it is sent when it is told to.
type window struct {
	t    *testing.T
	http *http.Client
}

func newWindow(t *testing.T, process *servertest.Process) *window {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(process.URL)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, publicHost+":") {
			address = server.Host
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &window{t, &http.Client{
		Jar: jar, Timeout: 30 * time.Second, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

type page struct {
	status int
	next   *url.URL
	body   map[string]any
}

func (w *window) send(method, address, contentType, body string) page {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	response, err := w.http.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	got := page{status: response.StatusCode}
	_ = json.Unmarshal(text, &got.body)
	got.next, _ = response.Location()
	return got
}

func (w *window) get(path string) page {
	w.t.Helper()
	return w.send("GET", "http://"+publicHost+path, "", "")
}

func (w *window) post(path string, body any) page {
	w.t.Helper()
	written, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.send("POST", "http://"+publicHost+path, "application/json", string(written))
}

// signInThere goes from the issuer's first page to the address at which it sends the browser back, as who is asked for.
func (w *window) signInThere(at *url.URL, who string) string {
	w.t.Helper()
	for range 20 {
		if at == nil {
			w.t.Fatal("the issuer sends the browser nowhere")
		}
		if at.Hostname() == publicHost {
			return at.RequestURI()
		}
		got := w.send("GET", at.String(), "", "")
		if got.next == nil { // one of its forms: who are you, and may this server know
			prompt := url.Values{"prompt": {"login"}, "login": {who}, "password": {"x"}}
			if got = w.send("POST", at.String(), "application/x-www-form-urlencoded", prompt.Encode()); got.next == nil {
				got = w.send("POST", at.String(), "application/x-www-form-urlencoded", url.Values{"prompt": {"consent"}}.Encode())
			}
		}
		at = got.next
	}
	w.t.Fatal("the issuer sends the browser around in circles")
	return ""
}

// arrive signs in at the issuer and comes back.
func (w *window) arrive(who, next string) (callback string, came page) {
	w.t.Helper()
	began := w.get("/api/auth/oidc/start?next=" + url.QueryEscape(next))
	if began.status != http.StatusFound {
		w.t.Fatalf("beginning: %+v", began)
	}
	callback = w.signInThere(began.next, who)
	return callback, w.get(callback)
}

func (w *window) expectMe(role string) map[string]any {
	w.t.Helper()
	me := w.get("/api/v1/users/me")
	if me.status != http.StatusOK || me.body["role"] != role {
		w.t.Errorf("signed in is %d %v, want the role %s", me.status, me.body, role)
	}
	return me.body
}

func (p page) refused(t *testing.T, status int, code string) {
	t.Helper()
	if p.status != status || p.body["code"] != code {
		t.Errorf("got %d %v, want %d %s", p.status, p.body, status, code)
	}
}

// Rule: people sign in by an issuer of OpenID Connect, a real one: with the role of their claims, with none and told so
// where no claim counts; a local account of the same address is not theirs before its owner has linked it; what came back
// once comes back no second time.
func TestSigningInByOpenIDConnect(t *testing.T) {
	t.Parallel()
	issuer := startIssuer(t)
	environment := servertest.Fresh(t).With(servertest.Environment{
		"OIDC_ISSUER": issuer, "OIDC_CLIENT_ID": "notes", "OIDC_CLIENT_SECRET": "asecretoftheclient", "PUBLIC_URL": "http://" + publicHost,
		"OIDC_SCOPES": "openid email profile groups", "OIDC_ROLE_MAP": "staff=editor,bosses=admin", "LOGIN_RATE_LIMIT": "1000 per minute",
	})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "boss@example.org")

	ada := newWindow(t, process)
	callback, came := ada.arrive("ada-staff", "/recordings?a=b")
	if came.status != http.StatusFound || came.next.RequestURI() != "/recordings?a=b" || came.next.Hostname() != publicHost {
		t.Fatalf("back came %+v", came)
	}
	if me := ada.expectMe("editor"); me["email"] != "ada@example.org" || me["sso_provider"] != strings.TrimPrefix(issuer, "http://") {
		t.Errorf("ada is %v", me)
	}
	ada.get(callback).refused(t, http.StatusForbidden, "oidc_refused")
	newWindow(t, process).get(callback).refused(t, http.StatusForbidden, "oidc_refused")
	ada.replay(callback)

	eve := newWindow(t, process)
	if _, came := eve.arrive("eve-strangers-owner", "//evil.example"); came.status != http.StatusFound || came.next.RequestURI() != "/?notice=oidc_role_unmapped" {
		t.Errorf("without a role back came %+v", came)
	}
	eve.expectMe("viewer")
	eve.get("/api/v1/admin/users").refused(t, http.StatusForbidden, "insufficient_permission")

	boss := newWindow(t, process)
	_, came = boss.arrive("boss-staff", "/")
	came.refused(t, http.StatusConflict, "conflict")
	boss.linkThenSignIn("boss-staff")
}

// replay begins anew and comes back with a code that was used.
func (w *window) replay(callback string) {
	w.t.Helper()
	began := w.get("/api/auth/oidc/start")
	old, err := url.Parse(callback)
	if err != nil {
		w.t.Fatal(err)
	}
	query := old.Query()
	query.Set("state", began.next.Query().Get("state"))
	w.get(old.Path+"?"+query.Encode()).refused(w.t, http.StatusForbidden, "oidc_refused")
}

// linkThenSignIn signs in by password, links, and signs in by the issuer in a window of its own. The last administrator
// stays one, whatever its claims say.
func (w *window) linkThenSignIn(who string) {
	w.t.Helper()
	if got := w.post("/api/auth/oidc/link", map[string]string{}); got.status != http.StatusUnauthorized {
		w.t.Errorf("linking without a session: %+v", got)
	}
	if got := w.post("/api/auth/login", map[string]string{"email": "boss@example.org", "password": servertest.Password}); got.status != http.StatusOK {
		w.t.Fatalf("signing in: %+v", got)
	}
	began := w.post("/api/auth/oidc/link", map[string]string{"next": "/account"})
	address, _ := began.body["url"].(string)
	at, err := url.Parse(address)
	if err != nil || began.status != http.StatusOK {
		w.t.Fatalf("linking: %+v", began)
	}
	if came := w.get(w.signInThere(at, who)); came.status != http.StatusFound || came.next.RequestURI() != "/account" {
		w.t.Fatalf("back came %+v", came)
	}
	if _, came := w.arrive(who, "/"); came.status != http.StatusFound {
		w.t.Fatalf("after linking: %+v", came)
	}
	if me := w.expectMe("admin"); me["email"] != "boss@example.org" {
		w.t.Errorf("after linking it is %v", me)
	}
}
