package budgets

import (
	"context"
	"errors"
	"time"

	"github.com/stenometer/stenometer/models"
)

// Price is what a route can make the server pay for. Prices are made only in this file; the zero Price is refused by
// the route table.
type Price struct{ name string }

// Name is how the price is written in the route table.
func (p Price) Name() string { return p.name }

// The prices.
var (
	Transcription = Price{"transcription"}
	Text          = Price{"text"}
)

// Deferred marks a row that can start paid work but is never refused for money: the work is, when it begins.
type Deferred struct{ price Price }

// Later makes the mark.
func Later(price Price) Deferred { return Deferred{price} }

// Price is what the work is.
func (d Deferred) Price() Price { return d.price }

// Operation names in the ledger what a call was for.
type Operation string

// The operations.
const (
	Transcribing        Operation = "transcription"
	Summarizing         Operation = "summarization"
	Titling             Operation = "title_generation"
	ExtractingEvents    Operation = "event_extraction"
	IdentifyingSpeakers Operation = "speaker_identification"
	Chatting            Operation = "chat"
	Inquiring           Operation = "inquire"
	Completing          Operation = "completion"
)

// Operations lists every operation.
func Operations() []Operation {
	return []Operation{Transcribing, Summarizing, Titling, ExtractingEvents, IdentifyingSpeakers, Chatting, Inquiring, Completing}
}

// Work is what a provider is to be asked for at most.
type Work struct {
	Operation Operation
	Engine
	Most Measure
}

// Purses makes purses. The door and the workers of jobs have it; nobody else can make the money move.
type Purses struct{ budgets *Budgets }

// Purses gives the maker of purses.
func (b *Budgets) Purses() Purses { return Purses{b} }

// Of opens a payer's purse.
func (p Purses) Of(payer Payer) Purse { return Purse{budgets: p.budgets, payer: payer} }

// errNoPurse is a capability that nobody handed out.
var errNoPurse = errors.New("the work has no purse: nobody pays for it")

// Purse is the permission to spend a payer's money, within its budgets. Only Purses makes one; the zero value may spend
// nothing.
type Purse struct {
	budgets *Budgets
	payer   Payer
	// ahead is what other work can use that is begun first.
	ahead models.Amount
}

// About is the purse for work on one recording, which the ledger then tells.
func (p Purse) About(recordingID int64) Purse {
	p.payer.RecordingID = recordingID
	return p
}

// Besides is the purse for work that is begun behind other work for which nothing is held yet: Affords asks for room for
// both.
func (p Purse) Besides(other Work) Purse {
	if p.budgets != nil {
		price, _ := p.budgets.Prices.find(other.Engine, other.Most)
		p.ahead = plus(p.ahead, other.Most.amount(price))
	}
	return p
}

// TokenID is the credential that the payer came with, 0 for none: work that is done later is told for it too.
func (p Purse) TokenID() int64 { return p.payer.TokenID }

// Open refuses, with budget_exceeded, when nothing is left for work of a price. It holds nothing.
func (p Purse) Open(ctx context.Context, price Price) error {
	if p.budgets == nil {
		return errNoPurse
	}
	smallest := Measure{Input: 1, Output: 1}
	if price == Transcription {
		smallest = Measure{Audio: time.Second}
	}
	return p.Affords(ctx, Work{Engine: p.budgets.Engines[price], Most: smallest})
}

// Affords refuses, with budget_exceeded, work for which there is no room now. It holds nothing: the work may find the
// room gone when it begins.
func (p Purse) Affords(ctx context.Context, work Work) error {
	if p.budgets == nil {
		return errNoPurse
	}
	b := p.budgets
	now, err := b.period(ctx, p.payer.OrganizationID)
	if err != nil {
		return err
	}
	price, known := b.Prices.find(work.Engine, work.Most)
	db := b.db.Read.WithContext(ctx)
	for _, user := range []int64{0, p.payer.UserID} {
		row := models.BudgetMonth{OrganizationID: p.payer.OrganizationID, UserID: user, Month: now.month}
		if err := monthRow(db, &row); err != nil {
			return err
		}
		bounds, err := b.bounds(db, p.payer.OrganizationID, user, false)
		if err != nil {
			return err
		}
		if !known && bounds.micros != nil {
			return unpriced(work.Engine, row, *bounds.micros, now)
		}
		asked := plus(p.ahead, work.Most.amount(price))
		if refusal := bounds.refuse(row, asked, now); refusal != nil {
			b.exhausted(ctx, p.payer, now, asked, refusal)
			return refusal
		}
	}
	return nil
}
