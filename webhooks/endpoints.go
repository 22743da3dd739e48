package webhooks

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/problems"
)

// Whose events an endpoint is told.
const (
	ScopeUser         = "user"
	ScopeOrganization = "organization"
)

// MaxName is how many characters of a name are kept, MaxURL how many an address may have.
const (
	MaxName = 100
	MaxURL  = 500
)

// Endpoint is a webhook as its owner sees it, without its secret.
type Endpoint struct {
	ID, UserID              int64
	Scope, Name, URL        string
	AllowHTTP               bool
	Events                  []Type
	Shared, Content         bool
	Enabled, AutoPaused     bool
	ConsecutiveFailures     int
	CreatedAt, UpdatedAt    time.Time
	LastDeliveryAt, TrialAt *time.Time
	PreviousSecretUntil     *time.Time
}

func view(hook models.Webhook, now time.Time) (Endpoint, error) {
	types, err := typesOf(hook)
	if err != nil {
		return Endpoint{}, err
	}
	e := Endpoint{
		ID: hook.ID, UserID: hook.UserID, Scope: hook.Scope, Name: hook.Name, URL: hook.URL, AllowHTTP: hook.AllowHTTP,
		Events: types, Shared: hook.IncludeShared, Content: hook.IncludeContent, Enabled: hook.Enabled, AutoPaused: hook.AutoPaused,
		ConsecutiveFailures: hook.ConsecutiveFailures, CreatedAt: hook.CreatedAt, UpdatedAt: hook.UpdatedAt,
		LastDeliveryAt: hook.LastDeliveryAt, TrialAt: hook.TrialAt,
	}
	if until := hook.PreviousSecretUntil; until != nil && now.Before(*until) {
		e.PreviousSecretUntil = until
	}
	return e, nil
}

// Types lists the events that can be subscribed to.
func Types() []string {
	var types []string
	for _, row := range Events() {
		types = append(types, string(row.Type))
	}
	return types
}

// visible are the endpoints that the caller may see: its own, and the organization's if its role manages those.
func visible(tx *gorm.DB, p auth.Principal) *gorm.DB {
	tx = tx.Where("organization_id = ?", p.OrganizationID())
	if p.May(auth.ManageIntegrations) {
		return tx.Where("user_id = ? OR scope = ?", p.UserID(), ScopeOrganization)
	}
	return tx.Where("user_id = ?", p.UserID())
}

func find(tx *gorm.DB, p auth.Principal, id int64) (models.Webhook, error) {
	var hook models.Webhook
	err := visible(tx, p).Where("id = ?", id).Take(&hook).Error
	return hook, err
}

// maxListed is more than an account has with its organization's.
const maxListed = 2000

// List gives the caller's endpoints, newest first.
func (s *Webhooks) List(ctx context.Context, p auth.Principal) ([]Endpoint, error) {
	var hooks []models.Webhook
	if err := visible(s.db.Read.WithContext(ctx), p).Order("id DESC").Limit(maxListed).Find(&hooks).Error; err != nil {
		return nil, failed("list webhooks", err)
	}
	endpoints := make([]Endpoint, 0, len(hooks))
	for _, hook := range hooks {
		e, err := view(hook, s.Now())
		if err != nil {
			return nil, err
		}
		endpoints = append(endpoints, e)
	}
	return endpoints, nil
}

// Find gives one.
func (s *Webhooks) Find(ctx context.Context, p auth.Principal, id int64) (Endpoint, error) {
	hook, err := find(s.db.Read.WithContext(ctx), p, id)
	if err != nil {
		return Endpoint{}, failed("find a webhook", err)
	}
	return view(hook, s.Now())
}

// Wish is what a caller asks of an endpoint; nil leaves what there is, or at its making the default.
type Wish struct {
	Name, URL, Scope           *string
	Events                     []string // nil for none given
	AllowHTTP, Enabled, Shared *bool
	// Content says whether titles and references may be sent; by default whether the caller may read them.
	Content *bool
}

// Create makes an endpoint and its secret, which nobody can show again.
func (s *Webhooks) Create(ctx context.Context, p auth.Principal, wish Wish) (Endpoint, string, error) {
	now := s.moment()
	hook := models.Webhook{
		OrganizationID: p.OrganizationID(), UserID: p.UserID(), Scope: ScopeUser, Enabled: true, IncludeContent: p.MayRead(), CreatedAt: now, UpdatedAt: now,
	}
	if err := required(wish); err != nil {
		return Endpoint{}, "", err
	}
	if wish.Scope != nil {
		hook.Scope = *wish.Scope
	}
	set(&hook.Enabled, wish.Enabled)
	if err := s.apply(ctx, p, &hook, wish); err != nil {
		return Endpoint{}, "", err
	}
	secret := newSecret()
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := s.room(tx, p); err != nil {
			return err
		}
		if err := tx.Create(&hook).Error; err != nil {
			return err
		}
		sealedSecret, err := s.Keys.Seal(sealing, hook.ID, secret) // bound to the row, which has its id only now
		if err != nil {
			return err
		}
		hook.Secret = sealedSecret
		return tx.Model(&hook).UpdateColumn("secret", sealedSecret).Error
	})
	if err != nil {
		return Endpoint{}, "", failed("create a webhook", err)
	}
	e, err := view(hook, now)
	return e, secret, err
}

func required(wish Wish) error {
	switch {
	case wish.Name == nil || strings.TrimSpace(*wish.Name) == "":
		return problems.New(problems.InvalidParameter, "name is required: 1 to %d characters.", MaxName)
	case wish.URL == nil || strings.TrimSpace(*wish.URL) == "":
		return problems.New(problems.InvalidParameter, "url is required.")
	case wish.Events == nil:
		return problems.New(problems.InvalidParameter, "events is required: a list of at least one event type.").With("allowed", Types())
	}
	return nil
}

// room is the cap: exact, since who creates holds the account's row.
func (s *Webhooks) room(tx *gorm.DB, p auth.Principal) error {
	var owner models.User
	if err := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Select("id").Take(&owner, p.UserID()).Error; err != nil {
		return err
	}
	var count int64
	if err := tx.Model(&models.Webhook{}).Where("user_id = ?", p.UserID()).Count(&count).Error; err != nil {
		return err
	}
	if count < int64(s.MaxPerUser) {
		return nil
	}
	return problems.New(problems.WebhookLimitReached, "The account has %d webhooks and may have %d. Deleting one frees a slot.", count, s.MaxPerUser).
		With("max_per_user", s.MaxPerUser)
}

// apply judges a wish and writes it into the row. The address is judged last: that takes a look-up of its name.
func (s *Webhooks) apply(ctx context.Context, p auth.Principal, hook *models.Webhook, wish Wish) error {
	if hook.Scope == ScopeOrganization {
		if err := p.Permit(auth.ManageIntegrations); err != nil {
			return err
		}
	} else if hook.Scope != ScopeUser {
		return problems.New(problems.InvalidParameter, "scope must be %s or %s.", ScopeUser, ScopeOrganization)
	}
	if wish.Name != nil {
		name, err := nameOf(*wish.Name)
		if err != nil {
			return err
		}
		hook.Name = name
	}
	if wish.Events != nil {
		if err := subscribe(hook, wish.Events); err != nil {
			return err
		}
	}
	set(&hook.IncludeShared, wish.Shared)
	if err := content(p, hook, wish); err != nil {
		return err
	}
	return s.address(ctx, hook, wish)
}

func set(field *bool, wish *bool) {
	if wish != nil {
		*field = *wish
	}
}

func nameOf(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", problems.New(problems.InvalidParameter, "name must be 1 to %d characters without control characters.", MaxName)
	}
	if runes := []rune(name); len(runes) > MaxName {
		name = strings.TrimSpace(string(runes[:MaxName])) // the contract cuts
	}
	return name, nil
}

// subscribe sets the events; what is named twice counts once.
func subscribe(hook *models.Webhook, names []string) error {
	if len(names) == 0 {
		return problems.New(problems.InvalidParameter, "events must name at least one event type.").With("allowed", Types())
	}
	var types []Type
	for _, name := range names {
		if _, known := row(Type(name)); !known {
			return problems.New(problems.InvalidParameter, "events holds a name that is no event type.").With("allowed", Types())
		}
		if !slices.Contains(types, Type(name)) {
			types = append(types, Type(name))
		}
	}
	encoded, err := json.Marshal(types)
	if err != nil {
		return failed("encode the events", err)
	}
	hook.Events = string(encoded)
	return nil
}

// content keeps text of people from who may not read it: a credential without read neither lets an endpoint be sent
// titles, nor points one that is sent them elsewhere.
func content(p auth.Principal, hook *models.Webhook, wish Wish) error {
	set(&hook.IncludeContent, wish.Content)
	moved := wish.URL != nil && hook.URL != "" && strings.TrimSpace(*wish.URL) != "" && strings.TrimSpace(*wish.URL) != hook.URL
	if hook.IncludeContent && !p.MayRead() && (wish.Content != nil || moved) {
		return p.Require(auth.Read)
	}
	return nil
}

// address judges url and allow_http together; a blank url keeps what there is.
func (s *Webhooks) address(ctx context.Context, hook *models.Webhook, wish Wish) error {
	if wish.URL == nil && wish.AllowHTTP == nil {
		return nil
	}
	if wish.URL != nil {
		if address := strings.TrimSpace(*wish.URL); address != "" {
			hook.URL = address
		}
		if utf8.RuneCountInString(hook.URL) > MaxURL {
			return problems.New(problems.InvalidParameter, "url must be at most %d characters.", MaxURL).
				With("field", "url").With("max_length", MaxURL).With("reason", string(outbound.URLInvalid))
		}
	}
	set(&hook.AllowHTTP, wish.AllowHTTP)
	return s.judge(ctx, *hook)
}

// judge refuses an address that would not be called.
func (s *Webhooks) judge(ctx context.Context, hook models.Webhook) error {
	if reason := s.Strangers.Judge(ctx, hook.URL, hook.AllowHTTP); reason != "" {
		return problems.New(problems.InvalidParameter, "url is not accepted: %s.", reason.Meaning()).With("reason", string(reason)).With("field", "url")
	}
	return nil
}
