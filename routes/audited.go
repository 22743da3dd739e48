package routes

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/problems"
)

// Auditor keeps what is done on rows of administration.
type Auditor interface {
	// Begin writes the entry of what is about to be done; on an error nothing may be.
	Begin(ctx context.Context, entry audit.Entry) (id int64, err error)
	// End fills in how it ended.
	End(ctx context.Context, id int64, outcome string)
	// Write adds the entry of what changed nothing, Refused that of what somebody was not let do.
	Write(ctx context.Context, entry audit.Entry)
	Refused(ctx context.Context, entry audit.Entry)
}

// actionWord is how rows of administration are called in the audit log.
var actionWord = regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)+$`)

const (
	reachedKey = "routes.reached"
	madeKey    = "routes.made"
)

// Made tells the audit log what a request of administration has made, which its path cannot name.
func Made(c echo.Context, noun string, id int64) { c.Set(madeKey, audit.Object(noun, id)) }

// Asks is who asks, and from where, for what is noted of a row that is not administration.
func Asks(c echo.Context) audit.Entry {
	p := auth.PrincipalOf(c)
	return audit.Entry{
		ActorID: p.UserID(), TokenID: p.TokenID(), OrganizationID: p.OrganizationID(), Address: auth.ClientAddressOf(c),
		RequestID: c.Response().Header().Get(requestIDHeader),
	}
}

// audited is a row of administration between its guard and the log: what changes something is in the log before its
// handler runs, what only looks afterwards, and so is whoever the guard did not let in for want of a permission.
func (t *Table) audited(row Row, guard echo.MiddlewareFunc, final echo.HandlerFunc) echo.HandlerFunc {
	guarded := guard(func(c echo.Context) error {
		c.Set(reachedKey, true)
		if row.Method == http.MethodGet {
			err := final(c)
			t.auditor.Write(c.Request().Context(), entryOf(c, row, outcomeOf(c, err)))
			return err
		}
		return t.recorded(c, row, final)
	})
	return func(c echo.Context) error {
		err := guarded(c)
		if reached, _ := c.Get(reachedKey).(bool); !reached && problems.Of(err).Kind.Status() == http.StatusForbidden {
			t.auditor.Refused(c.Request().Context(), entryOf(c, row, outcomeOf(c, err)))
		}
		return err
	}
}

// recorded does what changes something, once its entry is written.
func (t *Table) recorded(c echo.Context, row Row, final echo.HandlerFunc) (err error) {
	ctx := c.Request().Context()
	id, err := t.auditor.Begin(ctx, entryOf(c, row, ""))
	if err != nil {
		return err //nolint:wrapcheck // it is a problem that says so
	}
	outcome := outcomeOf(c, problems.New(problems.Internal, "The handler did not return."))
	defer func() { t.auditor.End(ctx, id, outcome) }() // also when the handler panics
	err = final(c)
	outcome = outcomeOf(c, err)
	return err
}

// entryOf is who asks for what. The administrators of the instance act on everybody's things: whose an entry is, its object
// says then. What others name is not looked up: it may be another tenant's, who must not learn of the attempt.
func entryOf(c echo.Context, row Row, outcome string) audit.Entry {
	entry := Asks(c)
	entry.Action, entry.Object, entry.Outcome = row.Action, objectOf(c), outcome
	if auth.PrincipalOf(c).AdministersInstance() {
		entry.OrganizationID = 0
	}
	return entry
}

// objectOf names what the path names: "user 7 token 9". What is no id is a stranger's text and stays out.
func objectOf(c echo.Context) string {
	var words []string
	for _, noun := range c.ParamNames() {
		if id, err := strconv.ParseInt(c.Param(noun), 10, 64); err == nil && id > 0 {
			words = append(words, audit.Object(noun, id))
		}
	}
	return strings.Join(words, " ")
}

// outcomeOf is the status that a request is answered with, the code of a refusal, and what was made.
func outcomeOf(c echo.Context, err error) string {
	if err == nil {
		outcome := strconv.Itoa(c.Response().Status)
		if made, _ := c.Get(madeKey).(string); made != "" {
			outcome += " " + made
		}
		return outcome
	}
	problem := problems.Of(err)
	var refusal *limits.Refusal
	if errors.As(err, &refusal) {
		problem = refusal.Problem()
	}
	return audit.Refused(problem.Kind)
}
