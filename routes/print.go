package routes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
)

// shownRow is a row as "server routes --json" writes it.
type shownRow struct {
	Method string   `json:"method"`
	Path   string   `json:"path"`
	Door   Door     `json:"door"`
	Scopes []string `json:"scopes"`
	// Category is empty for public rows.
	Category auth.Category `json:"category"`
	// Enter says who may come in, in words.
	Enter     string       `json:"who_may_enter"`
	Limits    []shownLimit `json:"limits"`
	BodyBytes int64        `json:"body_bytes"`
	// Weighs is the member of the body whose distinct ids are counted; empty for rows that weigh one unit.
	Weighs string `json:"weighs,omitempty"`
	// Spends is the price of the work that the row can start; empty for rows that cannot. SpendsLater rows are never
	// refused for money.
	Spends      string `json:"spends,omitempty"`
	SpendsLater bool   `json:"spends_later,omitempty"`
	// Idempotent rows work a request with an Idempotency-Key once.
	Idempotent bool `json:"idempotent,omitempty"`
	// Streams says what bounds a stream of the row; empty for rows that stream nothing.
	Streams string `json:"streams,omitempty"`
	// Needs is the verb that the caller's role must have; empty for rows that are open to every role.
	Needs string `json:"needs,omitempty"`
	// Administration rows let a token in only with the mark, InstanceWide ones administrators of the instance alone.
	Administration bool `json:"administration,omitempty"`
	InstanceWide   bool `json:"instance_wide,omitempty"`
}

type shownLimit struct {
	Name string `json:"name"`
	// Rates is empty for a limit that is switched off.
	Rates []string `json:"rates"`
	// Counts is which requests are counted: token, session or all.
	Counts string `json:"counts"`
	// TakenBy is guard, or story for a limit that the handler's story takes itself.
	TakenBy string `json:"taken_by"`
}

// WriteText writes the table for people and for review: one block a row, and what stands around every row.
func (t *Table) WriteText(w io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "every request: %s\n", strings.Join(EveryRequest(), ", "))
	fmt.Fprintf(&text, "every answer 401: %s\n\n", shown(t.guard.Stacked(limits.AuthFailures), "guard"))
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range t.rows {
		r := t.show(row)
		fmt.Fprintf(columns, "%s\t%s\t%s\tscopes=%s\tcategory=%s\tbody=%d\t%s\n",
			r.Method, r.Path, r.Door, dash(strings.Join(r.Scopes, ",")), dash(string(r.Category)), r.BodyBytes, r.Enter)
		switch {
		case r.SpendsLater:
			fmt.Fprintf(columns, "\t  can start paid work, %s, and is never refused for money\n", r.Spends)
		case r.Spends != "":
			fmt.Fprintf(columns, "\t  spends, %s: 402 when nothing is left\n", r.Spends)
		}
		if r.Streams != "" {
			fmt.Fprintf(columns, "\t  streams: %s\n", r.Streams)
		}
		switch {
		case r.InstanceWide:
			fmt.Fprintf(columns, "\t  administration of the instance: 403 for everybody else and tokens without the mark\n")
		case r.Administration:
			fmt.Fprintf(columns, "\t  administration, %s: 403 for roles without the verb and tokens without the mark\n", r.Needs)
		case r.Needs != "":
			fmt.Fprintf(columns, "\t  needs %s: 403 for roles without the verb\n", r.Needs)
		}
		if r.Idempotent {
			fmt.Fprintf(columns, "\t  works a request with an Idempotency-Key once\n")
		}
		if r.Weighs != "" {
			fmt.Fprintf(columns, "\t  weighs the distinct ids of %s\n", r.Weighs)
		}
		for _, limit := range r.Limits {
			fmt.Fprintf(columns, "\t  %s\n", limit)
		}
		if len(r.Limits) == 0 {
			fmt.Fprintf(columns, "\t  uncounted\n")
		}
	}
	if err := columns.Flush(); err != nil {
		return fmt.Errorf("write the route table: %w", err)
	}
	if _, err := w.Write(text.Bytes()); err != nil {
		return fmt.Errorf("write the route table: %w", err)
	}
	return nil
}

// WriteJSON writes the table for programs.
func (t *Table) WriteJSON(w io.Writer) error {
	rows := make([]shownRow, 0, len(t.rows))
	for _, row := range t.rows {
		rows = append(rows, t.show(row))
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(map[string]any{"routes": rows, "every_request": EveryRequest()}); err != nil {
		return fmt.Errorf("write the route table: %w", err)
	}
	return nil
}

func (t *Table) show(row Row) shownRow {
	r := shownRow{
		Method: row.Method, Path: row.Path, Door: row.Door, Category: row.Category,
		Scopes: []string{}, Limits: []shownLimit{}, BodyBytes: row.Body, Enter: enter(row), Weighs: row.Weighs, Idempotent: row.Idempotent,
		Spends: row.Price.Name(), SpendsLater: row.Later, Needs: row.Needs.Name(),
		Administration: row.Administration, InstanceWide: row.InstanceWide,
	}
	if row.Streams {
		r.Streams = t.streamGuard()
	}
	for _, scope := range row.Scopes {
		r.Scopes = append(r.Scopes, scope.Name())
	}
	for _, stacked := range row.Stack {
		r.Limits = append(r.Limits, shown(stacked, "guard"))
	}
	for _, stacked := range row.Taken {
		r.Limits = append(r.Limits, shown(stacked, "story"))
	}
	return r
}

// enter says who may come in.
func enter(row Row) string {
	switch row.Door {
	case DoorPublic:
		return "anyone: " + row.Reason
	case DoorAccount:
		return "a session; a full token where API_TOKENS_MANAGE_BY_TOKEN is on"
	case DoorLate:
		return "a token with the scope in the field secret of the body"
	case DoorSigned:
		return "whoever signs with the key of an integration, in the name of its account"
	case DoorToken, DoorUpload, DoorPaid, DoorHearing, DoorAnswer:
		if row.Scopes[0] == auth.AnyToken {
			return "any valid token or session"
		}
		switch {
		case row.InstanceWide:
			return "a token with the scope and the mark of administration, or a session, of an administrator of the instance"
		case row.Administration:
			return "a token with the scope and the mark of administration, or a session, of a role that may " + row.Needs.Name()
		case row.Needs != (auth.Verb{}):
			return "a token with the scope, or a session, of a role that may " + row.Needs.Name()
		}
	}
	return "a token with the scope, or a session"
}

func shown(stacked auth.Stacked, takenBy string) shownLimit {
	counts := map[auth.Callers]string{
		auth.TokenCallers: "token", auth.SessionCallers: "session", auth.AllCallers: "all",
	}[stacked.Callers]
	limit := shownLimit{Name: stacked.Plan.Name, Rates: []string{}, Counts: counts, TakenBy: takenBy}
	for _, rate := range stacked.Rates {
		limit.Rates = append(limit.Rates, fmt.Sprintf("%d per %s", rate.Limit, rate.Period))
	}
	return limit
}

func (l shownLimit) String() string {
	rates := "off"
	if len(l.Rates) > 0 {
		rates = strings.Join(l.Rates, "; ")
	}
	text := fmt.Sprintf("%s %s, counts %s requests", l.Name, rates, l.Counts)
	if l.TakenBy == "story" {
		text += ", taken by the story"
	}
	return text
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
