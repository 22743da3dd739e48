package budgets

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// Source tells where the figures of a call come from.
type Source string

// The sources.
const (
	Reported  Source = "reported"
	Estimated Source = "estimated"
)

// Outcome tells how a call ended.
type Outcome string

// The outcomes.
const (
	Done     Outcome = "done"
	Failed   Outcome = "failed"
	Canceled Outcome = "canceled"
	Unknown  Outcome = "unknown" // its process died: charged in full
)

// settleEvery is the pause between two attempts to settle while the database is away.
const settleEvery = time.Second

// Send says that a call goes out now, which uses at most so much: from here on nobody knows what it costs until it is
// settled. Where the hold has less left, because an earlier call used it, it is made larger, or the call is refused with
// budget_exceeded. When Send fails the call must not be made.
func (h *Hold) Send(ctx context.Context, most Measure) error {
	if h.row.Sent {
		return errors.New("send a call: the one before it is not settled")
	}
	call := most.amount(h.price)
	missing := lacking(h.row.Left, call)
	err := h.budgets.apart(ctx, func(tx *gorm.DB) error {
		change := adding(setting(map[string]any{"sent": true}, "call_", call), "", missing)
		// The hold before the months, as everywhere: its owner and the sweep never wait for each other in a circle.
		if err := h.budgets.extend(tx, h.row.ID, change); err != nil || missing == (models.Amount{}) {
			return err
		}
		now, err := h.budgets.monthOf(tx, h.row)
		if err != nil {
			return err
		}
		return h.budgets.reserve(tx, h.row, missing, h.price.known, now)
	})
	if err != nil {
		payer := Payer{OrganizationID: h.row.OrganizationID, UserID: h.row.UserID}
		h.budgets.exhausted(ctx, payer, period{month: h.row.Month}, missing, err)
		return fmt.Errorf("send a call: %w", err)
	}
	h.row.Sent, h.row.Call, h.row.Left = true, call, plus(h.row.Left, missing)
	return nil
}

// monthOf is the period of a hold, whatever the time now.
func (b *Budgets) monthOf(tx *gorm.DB, hold models.BudgetHold) (period, error) {
	zone, err := zoneOf(tx, hold.OrganizationID)
	if err != nil {
		return period{}, err
	}
	first, err := time.ParseInLocation("2006-01", hold.Month, zone)
	if err != nil {
		return period{}, fmt.Errorf("read the month of hold %d: %w", hold.ID, err)
	}
	return periodOf(first, zone), nil
}

// Settle ends the call at what it did use, and writes it into the ledger; what the call did not use stays held for the
// next. What a provider reports is hostile input: an explicit nothing is nothing, but a report that is missing (nil),
// negative or above what the call could use is replaced by the estimate, which is cut to what the call could use, and
// marked. It goes through with it when ctx is over, and tries again while the database is away: a call that stays
// unsettled is charged in full when its lease is over.
func (h *Hold) Settle(ctx context.Context, outcome Outcome, reported *Measure, estimate Measure) error {
	if !h.row.Sent {
		return errors.New("settle a call: none was sent")
	}
	used, source := estimate.bounded().cut(h.row.Call), Estimated
	if reported != nil && reported.plausible() && within(reported.amount(h.price), h.row.Call) {
		used, source = *reported, Reported
	}
	h.used = used
	charged := least(used.amount(h.price), h.row.Call)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	row := h.row
	entry := models.LedgerEntry{
		InputTokens: used.Input, OutputTokens: used.Output, AudioSeconds: used.Audio.Seconds(),
		Source: string(source), Outcome: string(outcome),
	}
	for {
		row = h.row
		err := h.budgets.db.Transaction(ctx, func(tx *gorm.DB) error { return h.budgets.charge(tx, &row, charged, entry) })
		if err == nil {
			break
		}
		if !models.IsBusy(err) {
			return fmt.Errorf("settle a call: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("settle a call: %w", err)
		case <-time.After(settleEvery):
		}
	}
	h.row = row
	return nil
}

// charge turns a part of a hold into money spent and writes the call into the ledger, in one transaction and once: the
// hold counts its calls, and a call that was settled already is ErrHoldLost.
func (b *Budgets) charge(tx *gorm.DB, hold *models.BudgetHold, charged models.Amount, entry models.LedgerEntry) error {
	left := minus(hold.Left, charged)
	columns := map[string]any{"sent": false, "calls": hold.Calls + 1}
	settled := tx.Model(&models.BudgetHold{}).Where("id = ? AND sent AND calls = ?", hold.ID, hold.Calls).
		UpdateColumns(setting(setting(columns, "call_", models.Amount{}), "", left))
	if settled.Error != nil {
		return fmt.Errorf("settle the hold: %w", settled.Error)
	}
	if settled.RowsAffected == 0 {
		return ErrHoldLost
	}
	if err := b.move(tx, *hold, charged, charged); err != nil {
		return err
	}
	entry.HoldID, entry.Call = hold.ID, hold.Calls+1
	entry.OrganizationID, entry.UserID, entry.TokenID, entry.RecordingID = hold.OrganizationID, hold.UserID, hold.TokenID, hold.RecordingID
	entry.Operation, entry.Provider, entry.Model, entry.Price = hold.Operation, hold.Provider, hold.Model, hold.Price
	entry.Month, entry.Day, entry.OccurredAt = hold.Month, hold.Day, b.Now().UTC()
	entry.HeldMicros, entry.ChargedMicros = hold.Call.Micros, charged.Micros
	if err := tx.Create(&entry).Error; err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	hold.Left, hold.Sent, hold.Call, hold.Calls = left, false, models.Amount{}, hold.Calls+1
	return b.alert(tx, *hold)
}
