package limits

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// postgresConnect is how long one attempt to connect may take, in the background of the decisions that gave up.
	postgresConnect = 2 * time.Second
	// postgresPatience is the longest that a sweep waits for one answer: a server that has frozen must not hold it.
	postgresPatience = 10 * time.Second
)

// OpenPostgres connects to the database, which models has migrated, and waits for the first answer, at most 3 seconds.
// A server that refuses the name or the password, or knows no such database, is an error at once. One that is absent
// is none: the store finds it when it comes. No error shows the password.
func OpenPostgres(ctx context.Context, url string, options DatabaseOptions) (*Postgres, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("opening the limits' storage: %w", err) // pgx hides the password
	}
	options = options.withDefaults()
	tune(config, options)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("opening the limits' storage: %w", err)
	}
	p := &Postgres{pool: pool, timeout: options.Timeout, patience: postgresPatience, now: options.Now, space: newSpace(options.MaxKeys)}
	if err := firstContact(ctx, p.answers, postgresRefusesUs); err != nil {
		pool.Close()
		return nil, fmt.Errorf("opening the limits' storage: %w", err)
	}
	return p, nil
}

// tune gives the pool a few connections of its own, so that a busy application does not stop the guard, nor a busy
// guard the application, and lets the server end what is late before we do: a statement that it ends leaves the
// connection usable, one that we give up costs the connection.
func tune(config *pgxpool.Config, options DatabaseOptions) {
	config.MaxConns = int32(options.Connections)
	config.MinConns, config.MinIdleConns = 0, 0
	config.PingTimeout = options.Timeout / 2
	config.ConnConfig.ConnectTimeout = postgresConnect
	settings := fmt.Sprintf("SET statement_timeout = %d; ", max(1, options.Timeout.Milliseconds()*9/10)) +
		// The functions read what was committed before they got their locks.
		"SET default_transaction_isolation = 'read committed'; SET default_transaction_read_only = off; " +
		// A plan made while a table was nearly empty would go on reading all of it when it has grown. Where there is no
		// other way the planner takes this for a query so dear that it is compiled, which takes longer than we wait.
		"SET enable_seqscan = off; SET jit = off; SET synchronous_commit = off"
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.PgConn().Exec(ctx, settings).ReadAll(); err != nil {
			return fmt.Errorf("preparing a connection: %w", err)
		}
		return nil
	}
}

// answers tells whether the server answers, and looks at once at what it holds: whoever clears the counters from here on
// is noticed, and the bound on them begins with those that are there. A database without our tables is told by every
// decision.
func (p *Postgres) answers(ctx context.Context) error {
	if err := p.Ping(ctx); err != nil {
		return err
	}
	_, _ = p.Epoch(ctx)
	_ = p.count(ctx)
	return nil
}

// postgresRefusesUs reports whether PostgreSQL answered that it does not know our name, password or database.
func postgresRefusesUs(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && (strings.HasPrefix(answer.Code, "28") || answer.Code == "3D000")
}
