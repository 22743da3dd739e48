package budgets

import (
	"strconv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// holdHint is the wait that is told when holds of other calls are in the way.
const holdHint = 5 * time.Second

// unitMoney is how refusals call what is bounded; the scopes say whose budget it is.
const (
	unitMoney         = "USD"
	scopeOrganization = "organization"
	scopeAccount      = "account"
)

// bounds are the budgets in force for one month; nil bounds nothing.
type bounds struct {
	whose                   string
	micros, tokens, seconds *int64
}

// bounds reads those of an account, or of the organization where user is 0. Locked, they cannot be changed until the
// transaction ends.
func (b *Budgets) bounds(db *gorm.DB, organization, user int64, locked bool) (bounds, error) {
	if locked {
		db = db.Clauses(clause.Locking{Strength: clause.LockingStrengthShare})
	}
	whose, subject := scopeOrganization, Subject{OrganizationID: organization}
	if user != 0 {
		whose, subject = scopeAccount, Subject{UserID: user}
	}
	set, err := stored(db, subject)
	if err != nil {
		return bounds{}, err
	}
	if user == 0 && set.Micros == nil {
		set.Micros = b.Default
	}
	return bounds{whose, set.Micros, set.Tokens, set.Seconds}, nil
}

// dimension is one of the three things that are bounded.
type dimension struct {
	unit               string // in refusals
	column             string
	bound              *int64
	spent, held, asked int64
	shown              func(int64) any
}

// written is a quantity as a sentence has it.
func (d dimension) written(n int64) string {
	if d.unit == unitMoney {
		return written(n)
	}
	return strconv.FormatInt(n, 10)
}

func (b bounds) dimensions(row models.BudgetMonth, asked models.Amount) []dimension {
	whole := func(n int64) any { return n }
	return []dimension{
		{unitMoney, "micros", b.micros, row.Spent.Micros, row.Held.Micros, asked.Micros, func(n int64) any { return Dollars(n) }},
		{"tokens", "tokens", b.tokens, row.Spent.Tokens, row.Held.Tokens, asked.Tokens, whole},
		{"seconds of audio", "seconds", b.seconds, row.Spent.Seconds, row.Held.Seconds, asked.Seconds, whole},
	}
}

// room adds to a statement the conditions under which an amount still fits.
func (b bounds) room(query *gorm.DB, asked models.Amount) *gorm.DB {
	for _, d := range b.dimensions(models.BudgetMonth{}, asked) {
		// Work that uses none of it is not refused for it, even where a budget was lowered below what is spent.
		if d.bound != nil && d.asked > 0 {
			query = query.Where("spent_"+d.column+" + held_"+d.column+" + ? <= ?", d.asked, *d.bound)
		}
	}
	return query
}

// refuse tells which budget has no room, nil when all have.
func (b bounds) refuse(row models.BudgetMonth, asked models.Amount, now period) error {
	for _, d := range b.dimensions(row, asked) {
		if d.bound == nil || d.asked == 0 || d.spent+d.held+d.asked <= *d.bound {
			continue
		}
		refusal := told(d, b.whose, now, "The %s's budget of this month has no room for this: it takes %s %s, and of %s %s %s are spent and %s held.",
			b.whose, d.written(d.asked), d.unit, d.written(*d.bound), d.unit, d.written(d.spent), d.written(d.held))
		if d.spent+d.asked <= *d.bound {
			return refusal.After(holdHint)
		}
		return refusal
	}
	return nil
}

// unpriced refuses work whose cost nobody can tell, where money is bounded.
func unpriced(engine Engine, row models.BudgetMonth, budget int64, now period) error {
	d := bounds{micros: &budget}.dimensions(row, models.Amount{})[0]
	model := "the model " + strconv.Quote(engine.Model)
	if engine.Model == "" { // some services are asked for none
		model = "a model that the service chooses"
	}
	return told(d, "", now, "There is a budget, and no price is known for %s: nobody can tell what it may cost. The operator can name its price in PRICES_FILE.", model)
}

func told(d dimension, whose string, now period, sentence string, arguments ...any) *problems.Error {
	refusal := problems.New(problems.BudgetExceeded, sentence, arguments...).
		With("spent", d.shown(d.spent)).With("held", d.shown(d.held)).With("budget", d.shown(*d.bound)).
		With("unit", d.unit).With("resets_at", now.next.UTC().Format(time.RFC3339))
	if whose != "" {
		refusal = refusal.With("scope", whose)
	}
	return refusal
}

// Dollars is micro-dollars as people read them.
func Dollars(micros int64) float64 { return float64(micros) / 1e6 }

// DollarsOrNone is Dollars where there are some.
func DollarsOrNone(micros *int64) *float64 {
	if micros == nil {
		return nil
	}
	return new(Dollars(*micros))
}

// written is micro-dollars as a sentence has dollars.
func written(micros int64) string { return strconv.FormatFloat(Dollars(micros), 'f', -1, 64) }
