package audit

import (
	"context"
	"time"

	"github.com/stenometer/stenometer/models"
)

// MaxPage is the most entries of one page.
const MaxPage = 200

// Query says which entries are asked for. What is zero narrows nothing.
type Query struct {
	OrganizationID, ActorID int64
	// Action is a whole word, or its beginning up to a dot: "user" finds "user.disable" too.
	Action      string
	From, Until *time.Time
	// Before is the cursor: entries older than the one of this id.
	Before int64
	// Limit is 1 to MaxPage.
	Limit int
}

// Stored is an entry as it stands in the log.
type Stored struct {
	ID int64
	Entry
}

// List is the newest entries that a query finds, newest first.
func (l *Log) List(ctx context.Context, query Query) ([]Stored, error) {
	find := l.db.Read.WithContext(ctx).Order("id DESC").Limit(min(max(query.Limit, 1), MaxPage))
	if query.OrganizationID != 0 {
		find = find.Where("organization_id = ?", query.OrganizationID)
	}
	if query.ActorID != 0 {
		find = find.Where("actor_id = ?", query.ActorID)
	}
	if query.Action != "" {
		// By comparison, for a pattern would read % and _ as signs.
		find = find.Where("action = ? OR substr(action, 1, ?) = ?", query.Action, len(query.Action)+1, query.Action+".")
	}
	if query.From != nil {
		find = find.Where("at >= ?", query.From.UTC())
	}
	if query.Until != nil {
		find = find.Where("at <= ?", query.Until.UTC())
	}
	if query.Before != 0 {
		find = find.Where("id < ?", query.Before)
	}
	var rows []models.AuditEntry
	if err := find.Find(&rows).Error; err != nil {
		return nil, unread(err)
	}
	list := make([]Stored, 0, len(rows))
	for _, row := range rows {
		list = append(list, Stored{row.ID, Entry{
			At: row.At, ActorID: row.ActorID, TokenID: row.TokenID, OrganizationID: row.OrganizationID, Address: row.Address,
			Action: row.Action, Object: row.Object, Outcome: row.Outcome, RequestID: row.RequestID,
		}})
	}
	return list, nil
}

func unread(err error) error {
	return models.Unavailable("read the audit log", err) //nolint:wrapcheck // it says what was attempted
}
