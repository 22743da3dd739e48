package models

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// The SQL of both databases under one numbering: a number stands in both folders, for the same change.
//
//go:embed migrations
var migrations embed.FS

// Migrate brings the tables up to this version. Processes that start at once do it once: the others wait, then
// find nothing to do. Further tables (the job queue's) are made by further, in order, under the same lock.
func (db *DB) Migrate(ctx context.Context, further ...func(ctx context.Context, db *DB) error) error {
	err := db.guard.Hold(ctx, func() error {
		provider, err := db.provider()
		if err != nil {
			return err
		}
		if err := db.searchable(ctx); err != nil {
			return err
		}
		if _, err := provider.Up(ctx); err != nil {
			return err
		}
		for _, migrate := range further {
			if err := migrate(ctx, db); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

func (db *DB) provider() (*goose.Provider, error) {
	dialect := goose.DialectSQLite3
	if db.Dialect == Postgres {
		dialect = goose.DialectPostgres
	}
	folder, err := fs.Sub(migrations, "migrations/"+string(db.Dialect))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, db.writer, folder, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
}
