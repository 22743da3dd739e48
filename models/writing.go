package models

import (
	"context"
	"fmt"
	"time"
)

// Writing is how long the oldest transaction that writes, and has not yet committed, has been going on; 0 when there
// is none. What such a transaction has stamped with a moment can't be seen yet: who reads "everything up to a moment"
// must stay behind its beginning, or never sees it. On PostgreSQL it is that of every process that signs in as the
// same role, on SQLite that of this process.
func (db *DB) Writing(ctx context.Context) (time.Duration, error) {
	if db.Dialect == SQLite {
		if began := db.began.Load(); began != nil {
			return time.Since(*began), nil
		}
		return 0, nil
	}
	var seconds float64
	err := db.Read.WithContext(ctx).Raw(`SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)
		FROM pg_stat_activity WHERE datname = current_database() AND backend_xid IS NOT NULL`).Scan(&seconds).Error
	if err != nil {
		return 0, fmt.Errorf("ask for the oldest writing transaction: %w", err)
	}
	return time.Duration(max(0, seconds) * float64(time.Second)), nil
}
