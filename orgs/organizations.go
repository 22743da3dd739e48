package orgs

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

const (
	// MaxPerPage is the most organizations of one page.
	MaxPerPage = 100

	maxName     = 200
	maxTimeZone = 64
	defaultZone = "UTC"
)

var slugForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Organization pays for and bounds the work of its accounts.
type Organization struct {
	ID         int64
	Slug, Name string
	TimeZone   string
	CreatedAt  time.Time
	Members    int64
}

// Organizations is the store of organizations.
type Organizations struct {
	db  *models.DB
	now func() time.Time
}

// NewOrganizations makes the store over a migrated database.
func NewOrganizations(db *models.DB, now func() time.Time) *Organizations {
	return &Organizations{db: db, now: now}
}

// Draft is an organization that is to be made: a slug that no other has, of 1 to 63 of a-z, 0-9 and - with a letter or
// digit at both ends; a name of 1 to 200 characters; and the IANA name of its time zone, UTC where it is empty.
type Draft struct{ Slug, Name, TimeZone string }

// Create makes an organization.
func (o *Organizations) Create(ctx context.Context, draft Draft) (Organization, error) {
	if !slugForm.MatchString(draft.Slug) {
		return Organization{}, problems.New(problems.InvalidParameter,
			"slug must be 1 to 63 of a-z, 0-9 and -, with a letter or a digit at both ends.").With("field", "slug")
	}
	if draft.TimeZone == "" {
		draft.TimeZone = defaultZone
	}
	row := models.Organization{Slug: draft.Slug, TimeZone: draft.TimeZone, CreatedAt: o.now().UTC().Truncate(time.Microsecond)}
	var err error
	if row.Name, err = nameOf(draft.Name); err != nil {
		return Organization{}, err
	}
	if err := zoneProblem(row.TimeZone); err != nil {
		return Organization{}, err
	}
	err = o.db.Transaction(ctx, func(tx *gorm.DB) error {
		var taken int64
		if err := tx.Model(&models.Organization{}).Where("slug = ?", row.Slug).Count(&taken).Error; err != nil {
			return err
		}
		if taken > 0 {
			return slugTaken()
		}
		return tx.Create(&row).Error
	})
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		err = slugTaken() // somebody made it since it was looked for
	}
	if err != nil {
		return Organization{}, failed("make an organization", err)
	}
	return viewOf(row), nil
}

func slugTaken() error {
	return problems.New(problems.Conflict, "There is an organization with this slug already.").With("field", "slug")
}

// Change is what becomes of an organization. What is nil stays. Months that have begun keep the name that they have: a new
// time zone counts from the next call on.
type Change struct{ Name, TimeZone *string }

// Alter changes an organization, all that is asked or nothing.
func (o *Organizations) Alter(ctx context.Context, id int64, change Change) (Organization, error) {
	columns := map[string]any{}
	if change.Name != nil {
		name, err := nameOf(*change.Name)
		if err != nil {
			return Organization{}, err
		}
		columns["name"] = name
	}
	if change.TimeZone != nil {
		if err := zoneProblem(*change.TimeZone); err != nil {
			return Organization{}, err
		}
		columns["time_zone"] = *change.TimeZone
	}
	if len(columns) > 0 {
		err := o.db.Transaction(ctx, func(tx *gorm.DB) error {
			return tx.Model(&models.Organization{}).Where("id = ?", id).UpdateColumns(columns).Error
		})
		if err != nil {
			return Organization{}, failed("change an organization", err)
		}
	}
	return o.Find(ctx, id)
}

// Find is the organization of an id.
func (o *Organizations) Find(ctx context.Context, id int64) (Organization, error) {
	found, err := o.list(ctx, o.db.Read.WithContext(ctx).Where("id = ?", id))
	if err == nil && len(found) == 0 {
		return Organization{}, problems.New(problems.NotFound, "There is no such organization.")
	}
	if err != nil {
		return Organization{}, err
	}
	return found[0], nil
}

// List is a page of organizations, oldest first, and how many there are.
func (o *Organizations) List(ctx context.Context, page, perPage int) (list []Organization, total int64, err error) {
	if err := o.db.Read.WithContext(ctx).Model(&models.Organization{}).Count(&total).Error; err != nil {
		return nil, 0, failed("count organizations", err)
	}
	list, err = o.list(ctx, o.db.Read.WithContext(ctx).Order("id").Limit(perPage).Offset((page-1)*perPage))
	return list, total, err
}

// list reads organizations with how many members they have.
func (o *Organizations) list(ctx context.Context, query *gorm.DB) ([]Organization, error) {
	var rows []models.Organization
	if err := query.Find(&rows).Error; err != nil {
		return nil, failed("list organizations", err)
	}
	ids := make([]int64, 0, len(rows))
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	var counts []struct{ OrganizationID, Members int64 }
	err := o.db.Read.WithContext(ctx).Model(&models.User{}).Select("organization_id, COUNT(*) AS members").
		Where("organization_id IN ? AND erasing_at IS NULL", ids).Group("organization_id").Scan(&counts).Error
	if err != nil {
		return nil, failed("count the members of organizations", err)
	}
	members := make(map[int64]int64, len(counts))
	for _, count := range counts {
		members[count.OrganizationID] = count.Members
	}
	list := make([]Organization, 0, len(rows))
	for _, row := range rows {
		view := viewOf(row)
		view.Members = members[row.ID]
		list = append(list, view)
	}
	return list, nil
}

func viewOf(row models.Organization) Organization {
	return Organization{ID: row.ID, Slug: row.Slug, Name: row.Name, TimeZone: row.TimeZone, CreatedAt: row.CreatedAt}
}

func nameOf(name string) (string, error) {
	name = strings.TrimSpace(name)
	length := utf8.RuneCountInString(name)
	if length < 1 || length > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", problems.New(problems.InvalidParameter, "name must have 1 to %d characters, none of them a control character.", maxName).
			With("field", "name")
	}
	return name, nil
}

// zoneProblem refuses what is no zone of the IANA's: months could not be counted in it. "Local" is that of the machine,
// which differs between two of them.
func zoneProblem(name string) error {
	if name != "" && name != "Local" && len(name) <= maxTimeZone {
		if _, err := time.LoadLocation(name); err == nil {
			return nil
		}
	}
	return problems.New(problems.InvalidParameter, "time_zone must be the name of a time zone of the IANA, such as Europe/Vienna.").
		With("field", "time_zone")
}

// failed says what was attempted. A database that may answer later is the caller's to try again.
func failed(attempt string, err error) error {
	return models.Unavailable(attempt, err) //nolint:wrapcheck // it says what was attempted
}
