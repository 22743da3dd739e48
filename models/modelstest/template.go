package modelstest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/tests/testservices"
)

// Template gives tests databases that are migrated already, as copies of one: to migrate each costs several times as
// much as to copy it. What a test says of migrating itself begins with URLs instead.
type Template struct {
	name   string
	tables []func(ctx context.Context, db *models.DB) error
	// sqlite is the file that is copied, and postgres the name of the database, by the URL of its server.
	sqlite   func() ([]byte, error)
	postgres func(server string) (string, error)
}

// NewTemplate is a template with the tables of models and further ones, by which it is named.
func NewTemplate(name string, further ...func(ctx context.Context, db *models.DB) error) *Template {
	t := &Template{name: name, tables: further}
	t.sqlite = sync.OnceValues(t.makeSQLite)
	var once sync.Once
	var made string
	var failed error
	t.postgres = func(server string) (string, error) {
		once.Do(func() { made, failed = t.makePostgres(server) })
		return made, failed
	}
	return t
}

// Migrated has the tables of models: what Each, SQLite and Postgres open.
var Migrated = NewTemplate("models")

// URLs names the two kinds of database and makes a migrated one of the kind.
func (t *Template) URLs() map[string]func(testing.TB) string {
	return map[string]func(testing.TB) string{"sqlite": t.SQLiteURL, "postgres": t.PostgresURL}
}

// SQLiteURL names a migrated database file of the test's own.
func (t *Template) SQLiteURL(tb testing.TB) string {
	tb.Helper()
	content, err := t.sqlite()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "stenometer.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return "sqlite://" + path
}

// PostgresURL makes a migrated database and drops it when the test ends, also under connections that are open.
func (t *Template) PostgresURL(tb testing.TB) string {
	tb.Helper()
	template, err := t.postgres(testservices.Postgres(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return newPostgres(tb, " TEMPLATE "+template)
}

func (t *Template) migrate(ctx context.Context, databaseURL string) error {
	db, err := models.Open(ctx, models.Options{URL: databaseURL, MaxConnections: 2})
	if err != nil {
		return err
	}
	return errors.Join(db.Migrate(ctx, t.tables...), db.Close())
}

// makeSQLite returns a migrated file. SQLite takes its side files back when the last handle closes, so that the file
// is whole by itself.
func (t *Template) makeSQLite() (content []byte, err error) {
	folder, err := os.MkdirTemp("", "stenometer-template-")
	if err != nil {
		return nil, fmt.Errorf("make the SQLite template: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "stenometer.db")
	if err := t.migrate(context.Background(), "sqlite://"+path); err != nil {
		return nil, fmt.Errorf("make the SQLite template: %w", err)
	}
	return os.ReadFile(path)
}

// makePostgres makes the template unless a test process before this one did: all of them share the server. It gets
// its name last, so that one that was never finished is copied by nobody.
func (t *Template) makePostgres(server string) (name string, err error) {
	ctx := context.Background()
	if name, err = t.postgresName(); err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return "", fmt.Errorf("reach the test server: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }() // and gives back the lock
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", name); err != nil {
		return "", fmt.Errorf("wait for the template: %w", err)
	}
	var made bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name).Scan(&made); err != nil || made {
		return name, err
	}
	unfinished := name + "_unfinished"
	for _, step := range []func() error{
		func() error { _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+unfinished); return err },
		func() error { _, err := conn.Exec(ctx, "CREATE DATABASE "+unfinished); return err },
		func() error { return t.migrate(ctx, databaseOf(server, unfinished)) },
		func() error { _, err := conn.Exec(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+name); return err },
	} {
		if err := step(); err != nil {
			return "", fmt.Errorf("make the PostgreSQL template: %w", err)
		}
	}
	return name, nil
}

// postgresName has the hash of what makes the tables, so that a change of it makes a template anew.
func (t *Template) postgresName() (string, error) {
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..")
	hash := sha256.New()
	err := filepath.WalkDir(filepath.Join(root, "models", "migrations", "postgres"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return addFile(hash, path)
	})
	// The queue's own tables are those of the version that go.mod names.
	if err := errors.Join(err, addFile(hash, filepath.Join(root, "go.mod"))); err != nil {
		return "", fmt.Errorf("name the PostgreSQL template: %w", err)
	}
	return "template_" + t.name + "_" + hex.EncodeToString(hash.Sum(nil)[:8]), nil
}

func addFile(hash io.Writer, path string) error {
	content, err := os.ReadFile(path)
	if err == nil {
		_, err = fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(path), len(content), content)
	}
	return err
}
