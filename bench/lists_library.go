package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/tokens"
)

// library is an account with so many recordings, alone in a database with a server of its own.
type library struct {
	dialect models.Dialect
	rows    int
	url     string
	owner   minted
	// organization is the owner's.
	organization int64
	server       *process
	// database is the pid of the database server, 0 where the product is it.
	database int
	// news and middle are cursors of the feed: before the last few changes, and in the middle of a full pass.
	news, middle string
}

// openLibraries makes the libraries and starts their servers. Those that it returns are to be closed, also after an error.
func (b *bench) openLibraries(ctx context.Context, sizes []int) (all []*library, err error) {
	for _, dialect := range []models.Dialect{models.SQLite, models.Postgres} {
		for _, rows := range sizes {
			l := &library{dialect: dialect, rows: rows}
			all = append(all, l)
			if err := b.openLibrary(ctx, l); err != nil {
				return all, fmt.Errorf("making an account with %d recordings on %s: %w", rows, dialect, err)
			}
			progress("%d recordings are on %s", rows, dialect)
		}
	}
	return all, nil
}

func (b *bench) openLibrary(ctx context.Context, l *library) (err error) {
	folder := filepath.Join(b.work, fmt.Sprint("library-", l.dialect, "-", l.rows))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	l.url = "sqlite://" + filepath.Join(folder, "stenometer.db")
	if l.dialect == models.Postgres {
		if l.url, l.database, err = newDatabase(ctx, fmt.Sprint("stenometer_library_", l.rows)); err != nil {
			return err
		}
	}
	if err := l.fill(ctx); err != nil {
		return err
	}
	before := b.tokens
	b.tokens = []minted{l.owner} // with which running asks
	defer func() { b.tokens = before }()
	l.server, _, err = b.running(ctx, func(address string) launch {
		started := b.onPostgres(l.url)(address)
		started.environment = append(started.environment, "DATA_DIR="+folder)
		return started
	})
	if err != nil {
		return err
	}
	return l.follow(ctx)
}

func (l *library) close() error {
	if l.server == nil {
		return nil
	}
	return l.server.stop()
}

// fill makes the account, its token and its recordings.
func (l *library) fill(ctx context.Context) (err error) {
	db, err := models.Open(ctx, models.Options{URL: l.url, Now: time.Now})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Migrate(ctx, jobs.Migrate); err != nil {
		return err
	}
	user, err := accounts.New(db, accounts.Options{}).Create(ctx, accounts.NewUser{
		Email: "owner@example.org", Username: "owner", Password: "a long enough one",
	})
	if err != nil {
		return err
	}
	l.owner.account, l.organization = user.ID, user.OrganizationID
	if l.owner.token, _, err = tokens.New(db, tokens.Options{}).Create(ctx, tokens.Wish{UserID: user.ID}); err != nil {
		return err
	}
	owner := models.User{ID: user.ID, OrganizationID: user.OrganizationID}
	if err := stock(ctx, db, owner, l.rows, time.Now().UTC()); err != nil {
		return err
	}
	if err := indexedAlike(ctx, db, owner, l.rows); err != nil {
		return err
	}
	if l.dialect == models.Postgres {
		err = db.Read.WithContext(ctx).Exec("VACUUM ANALYZE").Error // as it does by itself in time
	}
	return err
}

// newDatabase makes a database on the server of the run and tells the pid of that server.
func newDatabase(ctx context.Context, name string) (address string, server int, err error) {
	parsed, err := url.Parse(os.Getenv(postgresVariable))
	if err != nil || parsed.Host == "" {
		return "", 0, errors.Join(errors.New("no PostgreSQL to measure with: run it by scripts/with-services, as make bench does"), err)
	}
	admin, err := pgx.Connect(ctx, parsed.String())
	if err != nil {
		return "", 0, fmt.Errorf("reaching PostgreSQL: %w", err)
	}
	defer func() { err = errors.Join(err, admin.Close(context.WithoutCancel(ctx))) }()
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", 0, fmt.Errorf("making a database: %w", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", admin.PgConn().PID()))
	if err != nil {
		return "", 0, fmt.Errorf("finding the database server: %w", err)
	}
	// The parent is the second field behind the name.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if server, err = strconv.Atoi(fields[1]); err != nil {
		return "", 0, fmt.Errorf("finding the database server: %w", err)
	}
	parsed.Path = "/" + name
	return parsed.String(), server, nil
}

// follow reads the feed to its end, as a client does first, and then changes a few recordings.
func (l *library) follow(ctx context.Context) error {
	const most, few = 500, 20
	page := feedPage{More: true}
	for read := 0; page.More; {
		path := fmt.Sprintf("/api/v1/recordings/changes?limit=%d&cursor=%s", most, page.Next)
		if page.Next == "" {
			path = fmt.Sprintf("/api/v1/recordings/changes?limit=%d", most)
		}
		if err := l.read(ctx, "GET", path, nil, &page); err != nil {
			return err
		}
		if read += len(page.Changes); read <= l.rows/2 {
			l.middle = page.Next
		}
	}
	l.news = page.Next
	for id := 1; id <= few; id++ {
		change := map[string]any{"is_highlighted": true, "title": fmt.Sprint("Changed ", id)}
		if err := l.read(ctx, "PATCH", fmt.Sprint("/api/v1/recordings/", id), change, nil); err != nil {
			return err
		}
	}
	for range 100 {
		if err := l.read(ctx, "GET", "/api/v1/recordings/changes?cursor="+l.news, nil, &page); err != nil || len(page.Changes) == few {
			return err
		}
		time.Sleep(100 * time.Millisecond) // the feed waits until a change has settled
	}
	return errors.New("the feed does not tell of what was changed")
}

type feedPage struct {
	Changes []any  `json:"changes"`
	Next    string `json:"next_cursor"`
	More    bool   `json:"has_more"`
}
