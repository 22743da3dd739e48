package probe

import (
	"context"
	"fmt"
	"net/http"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
)

// Line is one row of the table as callers of several roles meet it.
type Line struct {
	Row routes.Row
	// Instance is true where the callers administer the whole instance besides.
	Instance bool
	// Cells has one word a role, one character a credential: s for a session, t for a token with exactly the row's
	// scopes, m for the same that was made for administration, f for a full one, where it reaches the handler. What is
	// refused is - by role or mark, and . by scope. Nothing else may be there.
	Cells []string
}

// Matrix tries every row with every credential of every role, one line a row, and a second one where it makes a
// difference whether the caller administers the instance. Rows that take no credential in a header have no cells. What the table says of
// itself is not asked but for what scopes a row takes.
func Matrix(ctx context.Context, target Target, roles []string) ([]Line, error) {
	w := &walk{ctx: ctx, target: target, tokens: map[wish]string{}, sessions: map[Caller]string{}}
	table := target.Build(unlimited())
	handler := table.Handler()
	var lines []Line
	for _, row := range table.Rows() {
		line := Line{Row: row}
		if row.Door == routes.DoorPublic || row.Door == routes.DoorLate || row.Door == routes.DoorSigned {
			lines = append(lines, line)
			continue
		}
		s := &subject{walk: w, row: row, method: row.Method, path: concrete(row.Path)}
		ofInstance := Line{Row: row, Instance: true}
		differs := false
		for _, role := range roles {
			cell, instance := s.cell(handler, role, false), s.cell(handler, role, true)
			line.Cells, ofInstance.Cells = append(line.Cells, cell), append(ofInstance.Cells, instance)
			differs = differs || cell != instance
		}
		lines = append(lines, line)
		if differs {
			lines = append(lines, ofInstance)
		}
	}
	if w.err != nil {
		return nil, fmt.Errorf("make the credentials of the matrix: %w", w.err)
	}
	return lines, nil
}

// unlimited are figures that count nothing.
func unlimited() limits.Figures {
	figures := make(limits.Figures)
	for _, plan := range limits.Plans() {
		figures[plan] = nil
	}
	return figures
}

// cell is what becomes of the credentials of one role.
func (s *subject) cell(handler http.Handler, role string, instance bool) string {
	plain, marked := Caller{Role: role, Instance: instance}, Caller{Role: role, Administration: true, Instance: instance}
	cell := ""
	for _, tried := range []struct {
		letter string
		trial  trial
	}{
		{"s", trial{cookie: s.signedIn(plain)}},
		{"t", trial{bearer: s.minted(s.scopeNames(), plain)}},
		{"m", trial{bearer: s.minted(s.scopeNames(), marked)}},
		{"f", trial{bearer: s.minted(auth.FullName, plain)}},
	} {
		switch r := s.try(handler, tried.trial); {
		case r.reached:
			cell += tried.letter
		case r.status == forbidden && r.code == "insufficient_permission":
			cell += "-"
		case r.status == forbidden && r.code == "insufficient_scope":
			cell += "."
		default:
			cell += "(" + r.String() + ")"
		}
	}
	return cell
}
