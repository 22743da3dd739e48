package auth

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// retellAfter is how long the log is silent about an account and an event after it has told of them.
	retellAfter = time.Minute
	// maxTold bounds how many of these a process remembers to have told; one that is forgotten is told again.
	maxTold = 10_000
)

// unrecognized tells of accounts whose role is none of the table's: a row that somebody wrote by hand, or that another
// version left. They have no verb whether or not anybody is told; in silence nobody would find out why.
type unrecognized struct {
	known   map[string]bool
	metrics Metrics
	logger  *slog.Logger
	now     func() time.Time

	mu   sync.Mutex // protects told
	told map[telling]time.Time
}

// telling is what the log was told: one of the two events of an account does not silence the other.
type telling struct {
	account int64
	event   string
}

func newUnrecognized(o Options) *unrecognized {
	u := &unrecognized{known: map[string]bool{}, metrics: o.Metrics, logger: o.Logger, now: o.Now, told: map[telling]time.Time{}}
	for _, role := range Roles() {
		u.known[role.Name] = true
	}
	return u
}

// look counts a request of such an account. The log names the account and not what stands in its row, which may be
// anything.
func (u *unrecognized) look(p Principal) {
	if u.known[p.role] {
		return
	}
	event := "authz.unknown_role"
	if p.role == "" {
		event = "authz.missing_role"
		u.metrics.MissingRole()
	} else {
		u.metrics.UnknownRole()
	}
	if u.due(telling{p.userID, event}) {
		u.logger.Warn("an account's role is none that there is: it has no permission", "event", event, "account", p.userID)
	}
}

// due reports whether the log may tell it now, and notes that it does.
func (u *unrecognized) due(what telling) bool {
	now := u.now()
	u.mu.Lock()
	defer u.mu.Unlock()
	last, told := u.told[what]
	if told && now.Sub(last) < retellAfter {
		return false
	}
	if !told && len(u.told) >= maxTold {
		for other := range u.told {
			delete(u.told, other)
			break
		}
	}
	u.told[what] = now
	return true
}
