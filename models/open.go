package models

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Options say which database to open.
type Options struct {
	// URL is sqlite:///absolute/path, sqlite://relative/path or postgres://…
	URL string
	// MaxConnections bounds PostgreSQL's shared pool (2 or more, 0 means 20) and SQLite's readers (1 or more,
	// 0 means 4). SQLite has two more connections: the writer and the job queue's.
	MaxConnections int
	// Now stamps created_at and updated_at where a row leaves them empty. Nil means time.Now.
	Now func() time.Time
}

// Open opens the database and reaches it once. It does not migrate: see Migrate.
func Open(ctx context.Context, options Options) (*DB, error) {
	if options.Now == nil {
		options.Now = time.Now
	}
	if path, ok := strings.CutPrefix(options.URL, "sqlite://"); ok {
		return openSQLite(ctx, path, options)
	}
	parsed, err := url.Parse(options.URL)
	if err != nil || parsed.Scheme != "postgres" && parsed.Scheme != "postgresql" {
		// The URL may hold a password, so neither it nor the parser's complaint about it is repeated.
		return nil, fmt.Errorf("open the database: the URL must begin with sqlite:// or postgres://")
	}
	return openPostgres(ctx, options)
}

// gormConfig is the same for both databases. Errors are returned, so gorm logs nothing. A single statement is
// a transaction already, so gorm need not make it one. Statements are not prepared by gorm: pgx has its own
// cache, and on SQLite gorm's would keep one statement for every length of an IN list.
func gormConfig(now func() time.Time) *gorm.Config {
	return &gorm.Config{
		Logger:                 logger.Discard,
		NowFunc:                func() time.Time { return stored(now()) },
		TranslateError:         true,
		SkipDefaultTransaction: true,
	}
}

// stored is t as both databases keep it: UTC, whole microseconds.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
