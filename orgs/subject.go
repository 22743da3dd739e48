package orgs

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// Subject is one organization, account or token that has figures of its own.
type Subject struct {
	// Kind is limits.Organization, limits.Account or limits.Token.
	Kind limits.Subject
	ID   int64
}

func subjectOf(row models.LimitFigure) Subject {
	switch {
	case row.OrganizationID != nil:
		return Subject{limits.Organization, *row.OrganizationID}
	case row.UserID != nil:
		return Subject{limits.Account, *row.UserID}
	case row.TokenID != nil:
		return Subject{limits.Token, *row.TokenID}
	}
	return Subject{}
}

// column names the subject in limit_figures and puts its id into a row.
func (s Subject) column(row *models.LimitFigure) (string, error) {
	switch s.Kind {
	case limits.Organization:
		row.OrganizationID = &s.ID
		return "organization_id", nil
	case limits.Account:
		row.UserID = &s.ID
		return "user_id", nil
	case limits.Token:
		row.TokenID = &s.ID
		return "token_id", nil
	case limits.Address:
	}
	return "", fmt.Errorf("one %s has no figures of its own", s.Kind)
}

// replaceFigure removes the subject's figure of a plan and writes the new one, if there is one.
func replaceFigure(tx *gorm.DB, subject Subject, plan *limits.Plan, rates *config.Rates) error {
	row := models.LimitFigure{Plan: plan.Name}
	column, err := subject.column(&row)
	if err != nil {
		return err
	}
	err = tx.Where(column+" = ? AND plan = ?", subject.ID, plan.Name).Delete(&models.LimitFigure{}).Error
	if err != nil || rates == nil {
		return err
	}
	row.Figures = rates.String()
	return tx.Create(&row).Error
}

// OrganizationBySlug is the id of an organization.
func (f *Figures) OrganizationBySlug(ctx context.Context, slug string) (int64, error) {
	var row models.Organization
	err := f.db.Read.WithContext(ctx).Where("slug = ?", slug).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return 0, problems.New(problems.NotFound, "There is no organization %q.", slug)
	}
	if err != nil {
		return 0, fmt.Errorf("find an organization: %w", err)
	}
	return row.ID, nil
}
