package models

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	gormpostgres "gorm.io/driver/postgres"
	"gorm.io/gorm"
)

const postgresConnections = 20

// openPostgres makes one pool that gorm and the job queue share, so that MaxConnections bounds the process.
func openPostgres(ctx context.Context, options Options) (*DB, error) {
	config, err := pgxpool.ParseConfig(options.URL)
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL database: %w", err) // pgx hides the password
	}
	config.MaxConns = postgresConnections
	if options.MaxConnections != 0 {
		config.MaxConns = int32(options.MaxConnections)
	}
	if config.MaxConns < 2 {
		return nil, errors.New("open the PostgreSQL database: it needs 2 connections or more, one is kept by the job queue")
	}
	config.AfterConnect = readUTC
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the PostgreSQL database: %w", err)
	}
	sqlDB := stdlib.OpenDBFromPool(pool)
	db := &DB{
		Dialect: Postgres, pool: pool, writer: sqlDB, reader: sqlDB,
		guard: advisoryGuard{config: config.ConnConfig.Copy()},
	}
	err = db.Ping(ctx)
	if err == nil {
		// A prepared SELECT * is refused once its table has got a column, as the next version's migration gives it beside us.
		named := gormConfig(options.Now)
		named.QueryFields = true
		db.write, err = gorm.Open(gormpostgres.New(gormpostgres.Config{Conn: sqlDB}), named)
		db.Read = db.write
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the PostgreSQL database: %w", err), db.Close())
	}
	return db, nil
}

// readUTC makes times come back in UTC; pgx would give them in the machine's zone.
func readUTC(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
	return nil
}
