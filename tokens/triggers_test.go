package tokens_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/tokens"
)

// Whatever ends or changes a credential raises the counter in its own transaction, also what is written by hand; what
// changes nothing about it, such as its last use or a name, does not make every process read its rows again.
func TestEveryChangeOfACredentialIsCounted(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		user := newUser(t, db, "ann")
		create(t, tokens.New(db, tokens.Options{}), tokens.Wish{UserID: user.ID})
		for _, row := range []struct {
			statement string
			counts    bool
		}{
			{"UPDATE users SET disabled_at = '2030-01-01 00:00:00.000000+00:00' WHERE id = ?", true},
			{"UPDATE users SET role = 'viewer' WHERE id = ?", true},
			{"UPDATE users SET username = 'anna' WHERE id = ?", false},
			{"UPDATE api_tokens SET last_used_address = '192.0.2.1' WHERE user_id = ?", false},
			{"UPDATE api_tokens SET name = 'phone' WHERE user_id = ?", false},
			{"UPDATE api_tokens SET scopes = 'read' WHERE user_id = ?", true},
			{"UPDATE api_tokens SET expires_at = '2030-01-01 00:00:00.000000+00:00' WHERE user_id = ?", true},
			{"UPDATE api_tokens SET revoked_at = '2030-01-01 00:00:00.000000+00:00' WHERE user_id = ?", true},
			{"UPDATE api_tokens SET rate_limits = '{}' WHERE user_id = ?", true},
			{"DELETE FROM api_tokens WHERE user_id = ?", true},
		} {
			before := counted(t, tokens.New(db, tokens.Options{})) // a new one has read nothing yet
			write(t, db, func(tx *gorm.DB) error { return tx.Exec(row.statement, user.ID).Error })
			if after := counted(t, tokens.New(db, tokens.Options{})); (after != before) != row.counts {
				t.Errorf("%s: the counter went from %d to %d", row.statement, before, after)
			}
		}
	})
}
