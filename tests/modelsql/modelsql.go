// Package modelsql looks into a server's SQLite file from outside, for what no answer shows: that a secret is not
// stored, or that a row written by hand is judged rightly.
package modelsql

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	// The driver registers itself as sqlite3.
	_ "github.com/mattn/go-sqlite3"

	"github.com/stenometer/stenometer/tests/servertest"
)

// Open opens the database file of an environment; it is closed with the test.
func Open(t testing.TB, environment servertest.Environment) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(environment["DATA_DIR"], "stenometer.db")+"?_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs one statement.
func Exec(t testing.TB, environment servertest.Environment, statement string, arguments ...any) {
	t.Helper()
	if _, err := Open(t, environment).ExecContext(t.Context(), statement, arguments...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// Contains reports whether any value of a table, as text, holds needle.
func Contains(t testing.TB, environment servertest.Environment, table, needle string) bool {
	t.Helper()
	rows, err := Open(t, environment).QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for _, value := range values {
			text := fmt.Sprint(*value.(*any))
			if raw, ok := (*value.(*any)).([]byte); ok {
				text = string(raw)
			}
			if strings.Contains(text, needle) {
				return true
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return false
}
