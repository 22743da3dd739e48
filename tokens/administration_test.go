package tokens_test

import (
	"context"
	"crypto/sha256"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tokens"
)

// Rule: the mark of administration is set when a token is made, for an account whose role may administer; full is not it,
// no token hands on a mark that it does not have, and it lasts through a rotation.
func TestTheMarkOfAdministration(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		store := tokens.New(db, tokens.Options{})
		user := newUser(t, db, "ada")
		marked := func(plaintext string) bool {
			t.Helper()
			token, found, err := store.FindToken(ctx, sha256.Sum256([]byte(plaintext)))
			if err != nil || !found {
				t.Fatalf("the token is not found: %v", err)
			}
			return token.Administration
		}
		wish := tokens.Wish{UserID: user.ID, Administration: true}
		for _, role := range []string{"viewer", "editor", "manager", "approver", "contributor"} {
			become(t, db, user, role)
			if _, _, err := store.Create(ctx, wish); !problems.Is(err, problems.InsufficientPermission) {
				t.Errorf("a token for administration of the role %s: %v", role, err)
			}
		}
		var kept models.APIToken
		for _, role := range []string{"owner", "admin"} {
			become(t, db, user, role)
			plaintext, token := create(t, store, wish)
			if !marked(plaintext) {
				t.Errorf("the token of the role %s has no mark", role)
			}
			kept.ID = token.ID
		}
		plaintext, full := create(t, store, tokens.Wish{UserID: user.ID})
		if marked(plaintext) {
			t.Error("full includes administration")
		}
		if _, _, err := store.Rotate(ctx, user.ID, kept.ID, 0, full.ID); !problems.Is(err, problems.InsufficientScope) {
			t.Errorf("a token without the mark rotated one with it: %v", err)
		}
		successor, _, err := store.Rotate(ctx, user.ID, kept.ID, 0, 0)
		if err != nil || !marked(successor) {
			t.Errorf("the successor lost the mark, %v", err)
		}
	})
}

func become(t testing.TB, db *models.DB, user models.User, role string) {
	t.Helper()
	write(t, db, func(tx *gorm.DB) error {
		return tx.Model(&models.User{}).Where("id = ?", user.ID).UpdateColumn("role", role).Error
	})
}
