package webhooks

import (
	"context"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Change changes an endpoint. Enabling one that is paused lets what waited flow; disabling one drops what waits.
func (s *Webhooks) Change(ctx context.Context, p auth.Principal, id int64, wish Wish) (Endpoint, error) {
	hook, err := find(s.db.Read.WithContext(ctx), p, id)
	if err != nil {
		return Endpoint{}, failed("change a webhook", err)
	}
	if wish.Scope != nil && *wish.Scope != hook.Scope {
		return Endpoint{}, problems.New(problems.InvalidParameter, "scope is chosen when a webhook is created and stays.")
	}
	wanted := hook
	if err := s.apply(ctx, p, &wanted, wish); err != nil { // outside the transaction: it may wait for a name server
		return Endpoint{}, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		present, err := find(locking(tx), p, id)
		if err != nil {
			return err
		}
		if askedOf(present) != askedOf(hook) {
			return problems.New(problems.Conflict, "The webhook was changed by another request at the same time; read it again.")
		}
		now := s.moment()
		wanted.Enabled, wanted.AutoPaused, wanted.ConsecutiveFailures, wanted.TrialAt = present.Enabled, present.AutoPaused, present.ConsecutiveFailures, present.TrialAt
		wanted.UpdatedAt = now
		if err := enable(tx, &wanted, wish.Enabled, s); err != nil {
			return err
		}
		return tx.Model(&wanted).Select("name", "url", "allow_http", "events", "include_shared", "include_content", "enabled", "auto_paused",
			"consecutive_failures", "trial_at", "updated_at").UpdateColumns(&wanted).Error
	})
	if err != nil {
		return Endpoint{}, failed("change a webhook", err)
	}
	return view(wanted, s.Now())
}

// asked is what callers ask of an endpoint. A change writes all of it, so that it holds only for what it was made from.
type asked struct {
	name, url, events          string
	allowHTTP, shared, content bool
}

func askedOf(hook models.Webhook) asked {
	return asked{hook.Name, hook.URL, hook.Events, hook.AllowHTTP, hook.IncludeShared, hook.IncludeContent}
}

func enable(tx *gorm.DB, hook *models.Webhook, wish *bool, s *Webhooks) error {
	switch {
	case wish == nil || *wish && hook.Enabled:
		return nil
	case *wish:
		return resume(tx, hook, s.moment())
	case hook.Enabled || hook.AutoPaused:
		return disable(tx, hook, s.moment())
	}
	return nil
}

// Delete removes an endpoint with its deliveries, and gives what it was.
func (s *Webhooks) Delete(ctx context.Context, p auth.Principal, id int64) (Endpoint, error) {
	var hook models.Webhook
	err := s.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		if hook, err = manageable(tx, p, id); err != nil {
			return err
		}
		return tx.Delete(&hook).Error
	})
	if err != nil {
		return Endpoint{}, failed("delete a webhook", err)
	}
	return view(hook, s.Now())
}

// manageable locks an endpoint that the caller may change: who made one for the organization and may manage those no
// longer sees it still, and changes it no more.
func manageable(tx *gorm.DB, p auth.Principal, id int64) (models.Webhook, error) {
	hook, err := find(locking(tx), p, id)
	if err != nil {
		return hook, err
	}
	if hook.Scope == ScopeOrganization {
		return hook, p.Permit(auth.ManageIntegrations)
	}
	return hook, nil
}

// Rotate gives an endpoint another secret and returns it, once.
func (s *Webhooks) Rotate(ctx context.Context, p auth.Principal, id int64) (Endpoint, string, error) {
	var hook models.Webhook
	var secret string
	err := s.db.Transaction(ctx, func(tx *gorm.DB) (err error) {
		if hook, err = manageable(tx, p, id); err != nil {
			return err
		}
		if secret, err = s.rotate(&hook, s.moment()); err != nil {
			return err
		}
		hook.UpdatedAt = s.moment()
		return tx.Model(&hook).Select("secret", "previous_secret", "previous_secret_until", "updated_at").UpdateColumns(&hook).Error
	})
	if err != nil {
		return Endpoint{}, "", failed("rotate the secret of a webhook", err)
	}
	e, err := view(hook, s.Now())
	return e, secret, err
}
