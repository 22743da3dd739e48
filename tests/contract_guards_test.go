package tests

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/tests/servertest"
)

// harmless is a row's path to things that there are none of, so that any token may try it.
func harmless(row routes.Row) string {
	steps := strings.Split(row.Path, "/")
	for i, step := range steps {
		if strings.HasPrefix(step, ":") {
			steps[i] = "999999"
		}
	}
	return strings.Join(steps, "/")
}

// Rule: exactly the token with the documented scope is let in, on every row, and all others together are not (H-043);
// without a token, with each single scope, and with a full one the rows that open are the documented ones (H-045).
func TestEveryScopeOpensExactlyItsRows(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{"API_MAX_TOKENS_PER_USER": "100", "API_TOKEN_CHANGE_RATE_LIMIT": "0", "API_SEARCH_RATE_LIMIT": "0", "LOGIN_RATE_LIMIT": "0", "REGISTER_RATE_LIMIT": "0"})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	var all []string
	for _, row := range auth.Scopes() {
		all = append(all, row.Scope.Name())
	}
	held := map[string][]string{"nothing": nil, "everything": nil}
	for _, scope := range all {
		held[scope] = []string{scope}
		held["all but "+scope] = slices.DeleteFunc(slices.Clone(all), func(other string) bool { return other == scope })
	}
	for name, scopes := range held {
		token := ""
		if name != "nothing" {
			token = servertest.CreateToken(t, environment, "ada@example.org", scopes...)
		}
		client := process.Client(token)
		for _, row := range liveTable(t).Rows() {
			if row.Door == routes.DoorLate || row.Door == routes.DoorSigned {
				continue // their credential is in no header: the probe and the tests of what posts in try them
			}
			if row.Method == http.MethodDelete && row.Path == "/api/v1/tokens/current" {
				continue // it would end the token; TestATokenOpensExactlyTheRoutesOfItsScope tries it
			}
			answer := client.Send(row.Method, harmless(row), map[string]any{})
			refused := answer.Status == http.StatusUnauthorized || answer.Code() == "insufficient_scope"
			if want := !opens(row, name, scopes); refused != want {
				t.Errorf("%s with %s: %v, refused: %v, want %v", row.Method+" "+row.Path, name, answer, refused, want)
			}
			if wanted := map[bool]int{true: http.StatusUnauthorized, false: http.StatusForbidden}[token == ""]; refused && answer.Status != wanted {
				t.Errorf("%s with %s: %v, want %d", row.Method+" "+row.Path, name, answer, wanted)
			}
		}
	}
}

// opens is what the table says of a row and a token with these scopes.
func opens(row routes.Row, name string, scopes []string) bool {
	if row.Door == routes.DoorPublic {
		return true
	}
	if name == "nothing" || row.Door == routes.DoorAccount {
		return false
	}
	return name == "everything" || !slices.ContainsFunc(row.Scopes, func(scope auth.Scope) bool {
		return scope != auth.AnyToken && !slices.Contains(scopes, scope.Name())
	})
}

// Rule: HEAD of every GET row is GET without its body, under the same guard; OPTIONS of every path is 204 with the
// methods that there are, which any other method is told with 405 (H-074).
func TestMethodsOfEveryRow(t *testing.T) {
	t.Parallel()
	environment := quiet(t).With(servertest.Environment{"API_SEARCH_RATE_LIMIT": "0"})
	process, client := signedUp(t, environment)
	anybody := process.Client("")
	methods := map[string][]string{}
	for _, row := range liveTable(t).Rows() {
		path := harmless(row)
		methods[path] = append(methods[path], row.Method)
		if row.Method != http.MethodGet {
			continue
		}
		methods[path] = append(methods[path], http.MethodHead)
		for name, caller := range map[string]*servertest.Client{"a token": client, "nothing": anybody} {
			get, head := caller.Get(path), caller.Call(http.MethodHead, path, nil, nil)
			if head.Status != get.Status || len(head.Body) > 0 || head.Header.Get("Content-Type") != get.Header.Get("Content-Type") || head.Header.Get("ETag") != get.Header.Get("ETag") {
				t.Errorf("HEAD %s with %s: %d with %d bytes of %s, GET is %d of %s", path, name, head.Status, len(head.Body), head.Header.Get("Content-Type"), get.Status, get.Header.Get("Content-Type"))
			}
		}
	}
	for path, there := range methods {
		there = append(there, http.MethodOptions)
		slices.Sort(there)
		options := anybody.Call(http.MethodOptions, path, nil, nil)
		if allow := allowed(options); options.Status != http.StatusNoContent || len(options.Body) > 0 || !slices.Equal(allow, there) {
			t.Errorf("OPTIONS %s: %d allows %v, want 204 and %v", path, options.Status, allow, there)
		}
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if slices.Contains(there, method) {
				continue
			}
			answer := client.Send(method, path, nil)
			if allow := allowed(answer); answer.Status != http.StatusMethodNotAllowed || answer.Code() != "method_not_allowed" || !slices.Equal(allow, there) {
				t.Errorf("%s %s: %v allows %v, want 405 and %v", method, path, answer, allow, there)
			}
		}
	}
}

func allowed(answer servertest.Answer) []string {
	methods := strings.Split(answer.Header.Get("Allow"), ", ")
	slices.Sort(methods)
	return methods
}

// Rule: a thousand preflights, of an allowed origin and of another, need no credential, spend no quota and run no
// handler; the other one is granted nothing (H-076).
func TestAThousandPreflights(t *testing.T) {
	t.Parallel()
	const ours = "https://app.example.org"
	environment := servertest.Fresh(t).With(servertest.Environment{"CORS_ALLOWED_ORIGINS": ours, "SESSION_RATE_LIMIT": "10 per hour", "AUTH_FAILURE_RATE_LIMIT": "5 per hour"})
	process, client := signedUp(t, environment)
	anybody := process.Client("")
	for i := range 1000 {
		origin := []string{ours, "https://evil.example"}[i%2]
		answer := anybody.Call(http.MethodOptions, "/api/v1/recordings", nil, http.Header{
			"Origin": {origin}, "Access-Control-Request-Method": {"GET"}, "Access-Control-Request-Headers": {"authorization"},
		})
		granted := answer.Header.Get("Access-Control-Allow-Origin")
		if answer.Status != http.StatusNoContent || (origin == ours) != (granted == ours) || (origin != ours && granted != "") {
			t.Fatalf("a preflight of %s: %v grants %q", origin, answer, granted)
		}
		if origin == ours && !strings.Contains(strings.ToLower(answer.Header.Get("Access-Control-Allow-Headers")), "authorization") {
			t.Fatalf("a preflight allows the headers %q", answer.Header.Get("Access-Control-Allow-Headers"))
		}
	}
	if answer := anybody.Get("/api/v1/recordings"); answer.Status != http.StatusUnauthorized {
		t.Errorf("a request without a credential afterwards: %v, want its first 401", answer)
	}
	if answer := client.Get("/api/v1/recordings"); answer.Status != http.StatusOK || answer.Header.Get("X-RateLimit-Remaining") != "119" {
		t.Errorf("the first read afterwards: %v with %s left, want 119", answer, answer.Header.Get("X-RateLimit-Remaining"))
	}
}

// Rule: fifty that rename a recording beside fifty that list, all with last-used updates, see no failure and no 401
// (H-075).
func TestFiftyWritersAndFiftyReaders(t *testing.T) {
	t.Parallel()
	process, client := signedUp(t, quiet(t))
	id := recordingID(t, client.Upload("tone.wav", tone(t), nil).JSON(t))
	length := 3 * time.Second
	if servertest.Soak() {
		length = time.Minute
	}
	deadline := time.Now().Add(length)
	token := strings.TrimPrefix(client.Header.Get("Authorization"), "Bearer ")
	var wait sync.WaitGroup
	for n := range 100 {
		wait.Go(func() {
			caller := process.Client(token)
			for i := 0; time.Now().Before(deadline); i++ {
				method, path, body := http.MethodGet, "/api/v1/recordings", ""
				if n%2 == 0 {
					method, path, body = http.MethodPatch, at("/api/v1/recordings/%d", id), fmt.Sprintf(`{"title":"%d of %d"}`, i, n)
				}
				answer, err := caller.Do(method, path, strings.NewReader(body), http.Header{"Content-Type": {"application/json"}})
				if err != nil || answer.Status != http.StatusOK {
					t.Errorf("%s: %v %v", method, answer, err)
					return
				}
			}
		})
	}
	wait.Wait()
	if containsAll(process.Logs(), "database is locked") {
		t.Error("the log says that the database is locked")
	}
}
