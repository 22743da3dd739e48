// Package health answers load balancers and orchestrators: whether the process lives, and whether it can do its
// work. Probes stand before authentication and every limit, so that an exhausted limit never restarts a server.
package health

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
)

// Report is how the server stands. It is ready when there are no faults; warnings do not make it unready.
type Report struct {
	Faults   []string
	Warnings []string
}

// Reporter looks at the database and the storages and says how they stand. It takes at most a second.
type Reporter func(ctx context.Context) Report

// API serves the probes.
type API struct {
	Ready Reporter
}

// Declare lists the probes' routes.
func (a *API) Declare(t *routes.Table) {
	t.Public(http.MethodGet, "/healthz", "load balancers have no token", a.live, liveOperation(), routes.Uncounted())
	t.Public(http.MethodGet, "/readyz", "load balancers have no token", a.ready, readyOperation(), routes.Uncounted())
}

type liveness struct {
	Status string `json:"status" enum:"alive"`
}

func liveOperation() routes.Operation {
	return routes.Operation{
		Summary: "Check that the process is alive", Group: routes.GroupServer, Answers: routes.Answers{http.StatusOK: liveness{"alive"}},
	}
}

func readyOperation() routes.Operation {
	return routes.Operation{
		Summary: "Check that the server is ready", Group: routes.GroupServer,
		Notes: "503 while it starts, migrates or stops; 200 with the faults named while a policy handles them.",
		Answers: routes.Answers{
			http.StatusOK: answered(Report{}), http.StatusServiceUnavailable: answered(Report{Faults: []string{"the database does not answer"}}),
		},
	}
}

func (a *API) live(c echo.Context) error {
	return c.JSON(http.StatusOK, liveness{"alive"})
}

type readiness struct {
	Status   string   `json:"status"`
	Faults   []string `json:"faults"`
	Warnings []string `json:"warnings"`
}

func (a *API) ready(c echo.Context) error {
	status, body := answer(a.Ready(c.Request().Context()))
	return c.JSON(status, body)
}

// answered is the example of what a report is told as.
func answered(report Report) readiness {
	_, body := answer(report)
	return body
}

func answer(report Report) (int, readiness) {
	body := readiness{Status: "ready", Faults: append([]string{}, report.Faults...), Warnings: append([]string{}, report.Warnings...)}
	if len(report.Faults) > 0 {
		body.Status = "unavailable"
		return http.StatusServiceUnavailable, body
	}
	return http.StatusOK, body
}

// Starting answers while the server's parts are being made, when there is no route table yet: it lives, it is not
// ready, and everything else is told to come back.
func Starting() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		switch r.URL.Path {
		case "/healthz":
			write(w, http.StatusOK, map[string]string{"status": "alive"})
		case "/readyz":
			status, body := answer(Report{Faults: []string{"starting: the database is being opened and migrated"}})
			write(w, status, body)
		default:
			w.Header().Set("Retry-After", "1")
			write(w, problems.Starting.Status(), starting(r.URL.Path))
		}
	})
}

// starting is the refusal in the form of the path.
func starting(path string) any {
	const says = "The server is starting."
	if routes.SpeaksOpenAI(path) {
		return problems.OpenAIError(problems.Starting, says, nil)
	}
	return map[string]string{"error": says, "code": problems.Starting.Code()}
}

// write sends one small JSON body; a client that has gone is nobody's failure.
func write(w http.ResponseWriter, status int, body any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
