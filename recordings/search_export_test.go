package recordings

import (
	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
)

// Terms is terms.
func Terms(query string) []string { return terms(query) }

// Matched reports whether the term is in the text.
func Matched(text, term string) bool { return matched(fold(text), []string{term}) != 0 }

// Snip is snip.
func Snip(text string, terms []string) (string, [][2]int) {
	cut := snip(text, terms)
	return cut.Text, cut.Spans
}

// IndexedSQL is the query that proposes recordings by the index.
func (s *Recordings) IndexedSQL(p auth.Principal, q Query) string {
	q.Fields = SearchFields()
	return s.db.Read.ToSQL(func(tx *gorm.DB) *gorm.DB {
		return s.indexed(q.within(tx, p), p, q, terms(q.Text), nil).Find(&[]candidate{})
	})
}
