package models

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"gorm.io/gorm"
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

// Pending reports whether the tables are older than this version. It waits for no lock and changes nothing.
func (db *DB) Pending(ctx context.Context) (bool, error) {
	provider, err := db.provider()
	if err != nil {
		return false, err
	}
	read := db.Read.WithContext(ctx)
	exists, err := tableExists(read, goose.DefaultTablename)
	if err != nil || !exists {
		return !exists, err
	}
	var current int64
	err = read.Raw("SELECT max(version_id) FROM " + goose.DefaultTablename).Scan(&current).Error
	if err != nil {
		return false, fmt.Errorf("read the version of the tables: %w", err)
	}
	sources := provider.ListSources()
	return current < sources[len(sources)-1].Version, nil
}

// tableExists asks the catalog; gorm's HasTable would read every error as "no".
func tableExists(read *gorm.DB, name string) (bool, error) {
	query := "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
	if read.Name() == string(Postgres) {
		query = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = ?"
	}
	var count int64
	if err := read.Raw(query, name).Scan(&count).Error; err != nil {
		return false, fmt.Errorf("look for the table %s: %w", name, err)
	}
	return count == 1, nil
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
