package models

import (
	"context"
	"errors"
	"fmt"
)

// searchable sees to it that the database has what the index of search is made of, so that a server that cannot have it
// says so when it starts.
func (db *DB) searchable(ctx context.Context) error {
	if db.Dialect == SQLite {
		var has bool
		if err := db.writer.QueryRowContext(ctx, "SELECT sqlite_compileoption_used('ENABLE_FTS5')").Scan(&has); err != nil {
			return fmt.Errorf("ask for FTS5: %w", err)
		}
		if !has {
			return errors.New("this program was built without FTS5: build it by make, or with -tags=sqlite_fts5")
		}
		return nil
	}
	// IF NOT EXISTS asks for no right where the extension is there, so that an administrator can have made it before.
	if _, err := db.writer.ExecContext(ctx, "CREATE EXTENSION IF NOT EXISTS pg_trgm"); err != nil {
		return fmt.Errorf("search needs the extension pg_trgm (of PostgreSQL's contrib package): install it, and grant this "+
			"user CREATE on the database or run CREATE EXTENSION pg_trgm there yourself: %w", err)
	}
	return nil
}
