// Package integrations knows the senders that sign what they post. Each posts in the name of the account that made it,
// with a key of its own that is shown once and stored encrypted; a new key counts beside the old one for as long as its
// owner wants. What belongs to an organization its administrators manage together, everything else its account alone.
package integrations

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/sealed"
)

// The bounds.
const (
	MaxName    = 100
	MaxOverlap = 168 * time.Hour
	// MaxEach bounds an account's own integrations, and those of an organization.
	MaxEach = 20
)

// Whose an integration is to manage.
const (
	ScopeMember       = "member"
	ScopeOrganization = "organization"
)

const purpose = "integration"

// Integration is a sender that signs what it posts.
type Integration struct {
	ID int64
	// PublicID is what stands in its address.
	PublicID  string
	UserID    int64
	Name      string
	Scope     string
	Enabled   bool
	CreatedAt time.Time
	// OldUntil is when the key before stops counting; nil when there is none.
	OldUntil *time.Time
}

// Integrations are those of all accounts.
type Integrations struct {
	db     *models.DB
	sealed *sealed.Keys
	now    func() time.Time
}

// New makes them.
func New(db *models.DB, keys *sealed.Keys, now func() time.Time) *Integrations {
	return &Integrations{db, keys, now}
}

// Wish is an integration to be made.
type Wish struct {
	Name string
	// Scope is ScopeMember where it is nil.
	Scope *string
}

// Create makes an integration of the caller's and gives its key, which nobody can read again.
func (i *Integrations) Create(ctx context.Context, p auth.Principal, wish Wish) (made Integration, secret string, err error) {
	scope := ScopeMember
	if wish.Scope != nil {
		scope = *wish.Scope
	}
	if scope != ScopeMember && scope != ScopeOrganization {
		return Integration{}, "", problems.New(problems.InvalidParameter, "scope must be %s or %s.", ScopeMember, ScopeOrganization).With("field", "scope")
	}
	name, err := checkName(wish.Name)
	if err != nil {
		return Integration{}, "", err
	}
	if scope == ScopeOrganization {
		if err := p.Permit(auth.ManageIntegrations); err != nil {
			return Integration{}, "", err
		}
	}
	row := models.Integration{
		PublicID: strings.ToLower(rand.Text()), OrganizationID: p.OrganizationID(), UserID: p.UserID(), Name: name,
		Scope: scope, Enabled: true, CreatedAt: i.moment(),
	}
	secret = newSecret()
	err = i.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := room(tx, row); err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil {
			return fmt.Errorf("insert the integration: %w", err)
		}
		row.Secret, err = i.sealed.Seal(purpose, row.ID, secret)
		if err != nil {
			return err
		}
		return tx.Model(&row).UpdateColumn("secret", row.Secret).Error
	})
	if err != nil {
		return Integration{}, "", unavailable("make the integration", err)
	}
	return i.shown(row), secret, nil
}

// room refuses one integration more than there may be. Whoever makes one locks whose it is: of two at once, one waits.
func room(tx *gorm.DB, row models.Integration) error {
	mine := tx.Model(&models.Integration{}).Where("scope = ?", row.Scope)
	locking := tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).Select("id")
	var err error
	if row.Scope == ScopeOrganization {
		mine = mine.Where("organization_id = ?", row.OrganizationID)
		err = locking.Take(&models.Organization{}, row.OrganizationID).Error
	} else {
		mine = mine.Where("user_id = ?", row.UserID)
		err = locking.Take(&models.User{}, row.UserID).Error
	}
	if err != nil {
		return fmt.Errorf("lock the owner: %w", err)
	}
	var count int64
	if err := mine.Count(&count).Error; err != nil {
		return fmt.Errorf("count the integrations: %w", err)
	}
	if count >= MaxEach {
		return problems.New(problems.Conflict, "There are %d integrations already, which is as many as there may be; delete one first.", MaxEach).
			With("max_items", MaxEach)
	}
	return nil
}

// List gives what the caller may manage, the oldest first. MaxEach bounds it.
func (i *Integrations) List(ctx context.Context, p auth.Principal) ([]Integration, error) {
	var rows []models.Integration
	if err := mayManage(i.db.Read.WithContext(ctx), p).Order("id").Find(&rows).Error; err != nil {
		return nil, unavailable("list the integrations", err)
	}
	list := make([]Integration, 0, len(rows))
	for _, row := range rows {
		list = append(list, i.shown(row))
	}
	return list, nil
}

// mayManage are the caller's own, and those of its organization where its role lets it; no other exists for it.
func mayManage(db *gorm.DB, p auth.Principal) *gorm.DB {
	own := db.Where("user_id = ? AND scope = ?", p.UserID(), ScopeMember)
	if p.May(auth.ManageIntegrations) {
		own = own.Or("organization_id = ? AND scope = ?", p.OrganizationID(), ScopeOrganization)
	}
	return db.Where(own)
}

// Change is what of an integration is to be another; nil stays.
type Change struct {
	Name    *string
	Enabled *bool
}

// Alter changes an integration that the caller may manage. One that is not enabled accepts nothing.
func (i *Integrations) Alter(ctx context.Context, p auth.Principal, id int64, change Change) (Integration, error) {
	columns := map[string]any{}
	if change.Name != nil {
		name, err := checkName(*change.Name)
		if err != nil {
			return Integration{}, err
		}
		columns["name"] = name
	}
	if change.Enabled != nil {
		columns["enabled"] = *change.Enabled
	}
	if len(columns) == 0 {
		return Integration{}, problems.New(problems.InvalidParameter, "Give name or enabled.")
	}
	row, err := i.update(ctx, p, id, func(models.Integration) (map[string]any, error) { return columns, nil })
	return i.shown(row), err
}

// Rotate gives an integration a new key. The one before counts for so long beside it; one before that not any more.
func (i *Integrations) Rotate(ctx context.Context, p auth.Principal, id int64, overlap time.Duration) (Integration, string, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return Integration{}, "", problems.New(problems.InvalidParameter, "overlap_hours must be 0 to %d.", MaxOverlap/time.Hour).With("field", "overlap_hours")
	}
	secret := newSecret()
	row, err := i.update(ctx, p, id, func(row models.Integration) (map[string]any, error) {
		fresh, err := i.sealed.Seal(purpose, row.ID, secret)
		columns := map[string]any{"secret": fresh, "previous_secret": nil, "previous_until": nil}
		if overlap > 0 {
			columns["previous_secret"], columns["previous_until"] = row.Secret, i.moment().Add(overlap)
		}
		return columns, err
	})
	return i.shown(row), secret, err
}

func (i *Integrations) update(
	ctx context.Context, p auth.Principal, id int64, change func(models.Integration) (map[string]any, error),
) (row models.Integration, err error) {
	err = i.db.Transaction(ctx, func(tx *gorm.DB) error {
		locking := clause.Locking{Strength: clause.LockingStrengthUpdate}
		if err := mayManage(tx, p).Clauses(locking).Where("id = ?", id).Take(&row).Error; err != nil {
			return err
		}
		columns, err := change(row)
		if err != nil {
			return err
		}
		if err := tx.Model(&models.Integration{}).Where("id = ?", row.ID).UpdateColumns(columns).Error; err != nil {
			return fmt.Errorf("update the integration: %w", err)
		}
		return tx.Take(&row, row.ID).Error
	})
	if err != nil {
		return models.Integration{}, unavailable("change the integration", err)
	}
	return row, nil
}

// Delete removes an integration that the caller may manage, and gives what it was. Its recordings stay.
func (i *Integrations) Delete(ctx context.Context, p auth.Principal, id int64) (Integration, error) {
	var row models.Integration
	err := i.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := mayManage(tx, p).Where("id = ?", id).Take(&row).Error; err != nil {
			return err
		}
		return tx.Delete(&row).Error
	})
	if err != nil {
		return Integration{}, unavailable("delete the integration", err)
	}
	return i.shown(row), nil
}

// FindKey gives the key of an integration that is enabled and whose account is not disabled.
func (i *Integrations) FindKey(ctx context.Context, publicID string) (auth.SignedKey, bool, error) {
	var found []struct {
		models.Integration
		Role string
	}
	err := i.db.Read.WithContext(ctx).Table("integrations").Select(models.Columns(i.db.Read, &models.Integration{})+", users.role").
		Joins("JOIN users ON users.id = integrations.user_id AND users.disabled_at IS NULL").
		Where("integrations.public_id = ? AND integrations.enabled", publicID).Limit(1).Find(&found).Error
	if err != nil {
		return auth.SignedKey{}, false, unavailable("find the integration", err)
	}
	if len(found) == 0 {
		return auth.SignedKey{}, false, nil
	}
	row := found[0].Integration
	key := auth.SignedKey{
		IntegrationID: row.ID, Name: row.Name,
		Signer: auth.Signer{UserID: row.UserID, OrganizationID: row.OrganizationID, Role: found[0].Role},
	}
	counting := []string{row.Secret}
	if row.PreviousSecret != nil && row.PreviousUntil != nil && i.now().Before(*row.PreviousUntil) {
		counting = append(counting, *row.PreviousSecret)
	}
	for _, text := range counting {
		secret, err := i.sealed.Open(purpose, row.ID, text)
		if err != nil {
			return auth.SignedKey{}, false, fmt.Errorf("open the key of integration %d: %w", row.ID, err)
		}
		key.Secrets = append(key.Secrets, []byte(secret))
	}
	return key, true, nil
}

func (i *Integrations) shown(row models.Integration) Integration {
	shown := Integration{
		ID: row.ID, PublicID: row.PublicID, UserID: row.UserID, Name: row.Name, Scope: row.Scope, Enabled: row.Enabled, CreatedAt: row.CreatedAt,
	}
	if row.PreviousUntil != nil && i.now().Before(*row.PreviousUntil) {
		shown.OldUntil = row.PreviousUntil
	}
	return shown
}

func (i *Integrations) moment() time.Time { return i.now().UTC().Truncate(time.Microsecond) }

// newSecret is a key of more than 250 bits.
func newSecret() string { return "stnhook_" + rand.Text() + rand.Text() }

func checkName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || utf8.RuneCountInString(name) > MaxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", problems.New(problems.InvalidParameter, "name must be 1 to %d characters without control characters.", MaxName).
			With("field", "name").With("max_length", MaxName)
	}
	return name, nil
}

// unavailable says what was attempted, and tells what is not there and a database that is away from a fault.
func unavailable(attempt string, err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return problems.New(problems.NotFound, "There is no such integration.").Because(fmt.Errorf("%s: %w", attempt, err))
	}
	return models.Unavailable(attempt, err) //nolint:wrapcheck // it says what was attempted
}
