package audit_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/audit"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
)

func change(t testing.TB, db *models.DB, write func(*gorm.DB) error) error {
	t.Helper()
	return db.Transaction(context.Background(), write)
}

func list(t testing.TB, log *audit.Log, query audit.Query) []audit.Stored {
	t.Helper()
	found, err := log.List(context.Background(), query)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Rule: an entry is added before anything is done and never changes: its outcome is filled in once. Nobody removes one,
// neither by hand nor by replacing it.
func TestEntriesStand(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		ctx := t.Context()
		log := audit.New(db, audit.Options{})
		id, err := log.Begin(ctx, audit.Entry{ActorID: 3, TokenID: 4, OrganizationID: 2, Action: "user.disable", Object: "user 7", Outcome: "forged"})
		if err != nil {
			t.Fatal(err)
		}
		if stored := list(t, log, audit.Query{Limit: 10}); len(stored) != 1 || stored[0].Outcome != "" || stored[0].At.IsZero() {
			t.Fatalf("begun is %+v", stored)
		}
		log.End(ctx, id, "200")
		log.End(ctx, id, "500 internal")
		for about, alter := range map[string]string{
			"another outcome":      "UPDATE audit_entries SET outcome = '403'",
			"no outcome":           "UPDATE audit_entries SET outcome = ''",
			"another actor":        "UPDATE audit_entries SET actor_id = 9",
			"a removal":            "DELETE FROM audit_entries",
			"a removal of the old": "DELETE FROM audit_entries WHERE at < '2100-01-01'",
		} {
			if err := change(t, db, func(tx *gorm.DB) error { return tx.Exec(alter).Error }); err == nil {
				t.Errorf("%s is taken", about)
			}
		}
		sweeping := "TRUNCATE audit_entries"
		if db.Dialect == models.SQLite {
			sweeping = "INSERT OR REPLACE INTO audit_entries SELECT id, at, 9, token_id, organization_id, address, action, object, outcome, request_id FROM audit_entries"
		}
		if err := change(t, db, func(tx *gorm.DB) error { return tx.Exec(sweeping).Error }); err == nil {
			t.Errorf("%s is taken", sweeping)
		}
		stored := list(t, log, audit.Query{Limit: 10})
		if len(stored) != 1 || stored[0].Outcome != "200" || stored[0].ActorID != 3 || stored[0].TokenID != 4 {
			t.Errorf("it stands as %+v", stored)
		}
		// An entry under way is as fixed but for its outcome.
		if _, err = log.Begin(ctx, audit.Entry{Action: "user.enable"}); err != nil {
			t.Fatal(err)
		}
		forge := "UPDATE audit_entries SET outcome = '200', action = 'user.list' WHERE outcome = ''"
		if err := change(t, db, func(tx *gorm.DB) error { return tx.Exec(forge).Error }); err == nil {
			t.Error("an outcome brings another action with it")
		}
	})
}

// Rule: what is older than AUDIT_DAYS goes, and only by the sweep; what is younger stays, and afterwards nothing can be
// removed again.
func TestTheSweepRemovesTheOld(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		now := time.Date(2026, time.March, 4, 8, 0, 0, 0, time.UTC)
		log := audit.New(db, audit.Options{Keep: 10 * 24 * time.Hour, Now: func() time.Time { return now }})
		for _, days := range []int{400, 11, 10, 9, 0} {
			log.Write(t.Context(), audit.Entry{At: now.AddDate(0, 0, -days), Action: "user.list"})
		}
		if err := log.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		stored := list(t, log, audit.Query{Limit: 10})
		if len(stored) != 3 || !stored[2].At.Equal(now.AddDate(0, 0, -10)) {
			t.Errorf("left are %+v", stored)
		}
		if err := change(t, db, func(tx *gorm.DB) error { return tx.Exec("DELETE FROM audit_entries WHERE id = 3").Error }); err == nil {
			t.Error("after a sweep anything can be removed")
		}
	})
}

// A process that has started sweeps by itself, and stops at its end; both may be called again.
func TestTheSweepIsStarted(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	log := audit.New(db, audit.Options{Keep: time.Hour, SweepEvery: 10 * time.Millisecond})
	log.Stop()
	log.Write(t.Context(), audit.Entry{At: time.Now().Add(-2 * time.Hour), Action: "user.list"})
	log.Start(t.Context())
	log.Start(t.Context())
	defer log.Stop()
	for deadline := time.Now().Add(10 * time.Second); len(list(t, log, audit.Query{Limit: 1})) > 0; {
		if time.Now().After(deadline) {
			t.Fatal("an old entry stays")
		}
		<-time.After(5 * time.Millisecond)
	}
}

// Rule: an entry is its object's organization's, else its actor's; the list of one organization has no other's.
func TestWhoseAnEntryIs(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		log := audit.New(db, audit.Options{})
		var users []models.User
		for _, name := range []string{"north", "south"} {
			users = append(users, modelstest.Account(t, db, name, name, "admin"))
		}
		north, south := users[0], users[1]
		entries := []struct {
			entry audit.Entry
			whose int64
		}{
			{audit.Entry{ActorID: north.ID, Object: audit.Object("user", south.ID) + " token 4"}, south.OrganizationID},
			{audit.Entry{ActorID: north.ID, Object: audit.Object("organization", south.OrganizationID)}, south.OrganizationID},
			{audit.Entry{ActorID: north.ID, Object: audit.Object("user", 999_999)}, north.OrganizationID},
			{audit.Entry{ActorID: north.ID}, north.OrganizationID},
			{audit.Entry{ActorID: north.ID, Object: audit.Object("user", south.ID), OrganizationID: north.OrganizationID}, north.OrganizationID},
			{audit.Entry{Address: audit.Command}, 0},
		}
		for _, row := range entries {
			row.entry.Action = "user.alter"
			if err := change(t, db, func(tx *gorm.DB) error { return audit.Write(tx, row.entry) }); err != nil {
				t.Fatal(err)
			}
			if stored := list(t, log, audit.Query{Limit: 1}); stored[0].OrganizationID != row.whose || stored[0].Outcome != audit.Done {
				t.Errorf("%+v is stored as %+v, want it to be %d's", row.entry, stored[0], row.whose)
			}
		}
		if got := list(t, log, audit.Query{OrganizationID: south.OrganizationID, Limit: 10}); len(got) != 2 {
			t.Errorf("the other organization sees %+v", got)
		}
	})
}

// The list is narrowed, newest first, and goes on from a cursor; an action finds those that begin with it up to a dot.
func TestTheListIsNarrowed(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		log := audit.New(db, audit.Options{})
		began := time.Date(2026, time.March, 4, 8, 0, 0, 0, time.UTC)
		for i, action := range []string{"user.disable", "user_x.disable", "users.list", "user", "user.token.revoke"} {
			log.Write(t.Context(), audit.Entry{At: began.Add(time.Duration(i) * time.Hour), ActorID: int64(i), OrganizationID: 1, Action: action})
		}
		from, until := began.Add(time.Hour), began.Add(3*time.Hour)
		for about, row := range map[string]struct {
			query audit.Query
			want  string
		}{
			"all":            {audit.Query{Limit: 9}, "user.token.revoke user users.list user_x.disable user.disable"},
			"two":            {audit.Query{Limit: 2}, "user.token.revoke user"},
			"the next":       {audit.Query{Limit: 2, Before: 4}, "users.list user_x.disable"},
			"by an action":   {audit.Query{Limit: 9, Action: "user.disable"}, "user.disable"},
			"by a beginning": {audit.Query{Limit: 9, Action: "user"}, "user.token.revoke user user.disable"},
			"by a wildcard":  {audit.Query{Limit: 9, Action: "user%"}, ""},
			"by who did it":  {audit.Query{Limit: 9, ActorID: 2}, "users.list"},
			"by time":        {audit.Query{Limit: 9, From: &from, Until: &until}, "user users.list user_x.disable"},
			"of another":     {audit.Query{Limit: 9, OrganizationID: 2}, ""},
			"out of bounds":  {audit.Query{Limit: -5}, "user.token.revoke"},
		} {
			var got []string
			for _, stored := range list(t, log, row.query) {
				got = append(got, stored.Action)
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("%s: %v, want %s", about, got, row.want)
			}
		}
	})
}

// Rule: nothing happens unaudited: a log that cannot be written refuses with 503 what was about to be done, counts what
// is over, and each entry has its line in the log whether or not it was stored.
func TestALogThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	var lines bytes.Buffer
	failures := 0
	log := audit.New(db, audit.Options{Failed: func() { failures++ }, Logger: slog.New(slog.NewTextHandler(&lines, nil))})
	id, err := log.Begin(t.Context(), audit.Entry{Action: "user.disable", Object: "user 7"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := log.Begin(t.Context(), audit.Entry{Action: "user.enable"}); !problems.Is(err, problems.DatabaseUnavailable) {
		t.Errorf("begun is %v", err)
	}
	log.End(t.Context(), id, "200")
	log.Write(t.Context(), audit.Entry{Action: "user.list"})
	if failures != 2 {
		t.Errorf("%d failures are counted, want 2", failures)
	}
	for _, line := range []string{"action=user.disable object=\"user 7\"", "action=user.enable", "action=user.list", "outcome=200"} {
		if !strings.Contains(lines.String(), line) {
			t.Errorf("no line has %s:\n%s", line, lines.String())
		}
	}
}

// Rule: who repeats what is refused fills nothing: one entry a minute for each action of a caller.
func TestRefusalsAreWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	now := time.Now()
	log := audit.New(db, audit.Options{Now: func() time.Time { return now }})
	for range 5 {
		log.Refused(t.Context(), audit.Entry{ActorID: 1, Action: "user.list", Outcome: "403 insufficient_permission"})
	}
	log.Refused(t.Context(), audit.Entry{ActorID: 2, Action: "user.list", Outcome: "403 insufficient_permission"})
	log.Refused(t.Context(), audit.Entry{ActorID: 1, Action: "user.alter", Outcome: "403 insufficient_permission"})
	now = now.Add(time.Minute)
	log.Refused(t.Context(), audit.Entry{ActorID: 1, Action: "user.list", Outcome: "403 insufficient_permission"})
	if got := list(t, log, audit.Query{Limit: 20}); len(got) != 4 {
		t.Errorf("%d entries, want 4: %+v", len(got), got)
	}
}

// An entry is cut to its columns rather than lost.
func TestLongWordsAreCut(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		log := audit.New(db, audit.Options{})
		long := strings.Repeat("ü", 500)
		log.Write(t.Context(), audit.Entry{Address: long, Action: long, Object: long, Outcome: long, RequestID: long})
		if got := list(t, log, audit.Query{Limit: 1}); len(got) != 1 || got[0].Action != strings.Repeat("ü", 60) {
			t.Errorf("stored is %+v", got)
		}
	})
}
