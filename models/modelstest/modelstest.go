// Package modelstest gives tests real databases, made for one test and gone after it.
package modelstest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/tests/testservices"
)

// Each runs the test on both databases, one after the other, migrated and empty.
func Each(t *testing.T, test func(t *testing.T, db *models.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { test(t, Postgres(t)) })
}

// SQLite opens a migrated database in a file of the test's own.
func SQLite(t testing.TB) *models.DB {
	t.Helper()
	return Open(t, Migrated.SQLiteURL(t), false)
}

// Postgres opens a migrated database of the test's own. Without a server to make it on, the test is skipped.
func Postgres(t testing.TB) *models.DB {
	t.Helper()
	return Open(t, Migrated.PostgresURL(t), false)
}

// URLs names the two kinds of database and makes an empty one of the kind.
func URLs() map[string]func(testing.TB) string {
	return map[string]func(testing.TB) string{"sqlite": SQLiteURL, "postgres": PostgresURL}
}

// SQLiteURL names a database file that does not exist yet.
func SQLiteURL(t testing.TB) string {
	return "sqlite://" + filepath.Join(t.TempDir(), "stenometer.db")
}

// PostgresURL makes an empty database and drops it when the test ends, also under connections that are open.
func PostgresURL(t testing.TB) string {
	t.Helper()
	return newPostgres(t, "")
}

func newPostgres(t testing.TB, from string) string {
	t.Helper()
	server := testservices.Postgres(t)
	name := "test_" + strings.ToLower(rand.Text())
	// The other strategy logs every page, for a crash that no test survives.
	administer(t, server, "CREATE DATABASE "+name+from+" STRATEGY file_copy")
	t.Cleanup(func() { administer(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	return databaseOf(server, name)
}

// databaseOf is the URL of a further database of a server.
func databaseOf(server, name string) string {
	address, err := url.Parse(server)
	if err != nil {
		panic(fmt.Sprintf("parse the test server's URL: %v", err)) // pgx has read it before
	}
	address.Path = "/" + name
	return address.String()
}

// Open opens a further handle on a database, as another process would, and closes it when the test ends.
func Open(t testing.TB, databaseURL string, migrate bool) *models.DB {
	t.Helper()
	ctx := context.Background()
	db, err := models.Open(ctx, models.Options{URL: databaseURL, MaxConnections: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if migrate {
		if err := db.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func administer(t testing.TB, server, statement string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("reach the test server: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", statement, err))
	}
}
