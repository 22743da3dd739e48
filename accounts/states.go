package accounts

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

// State is a sign-in that is on its way over an issuer. It travels in a cookie of the browser that began it: who comes
// back without it, with another's, later, or a second time is not let in.
type State struct {
	// Value goes to the issuer and comes back, Nonce stands in what it signs, Verifier proves that the code is ours.
	Value    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	// Next is the local path at which the browser goes on.
	Next string `json:"next"`
	// UserID is the account that is to be linked; 0 for a sign-in.
	UserID    int64 `json:"user,omitempty"`
	ExpiresAt int64 `json:"expires"` // milliseconds
}

// maxState is the longest sealed state, in bytes: what is longer was not made here.
const maxState = 3000

// NewState begins a sign-in and is its cookie.
func (a *Accounts) NewState(next, verifier string, userID int64, life time.Duration) (State, string, error) {
	state := State{
		Value: rand.Text(), Nonce: rand.Text(), Verifier: verifier, Next: next, UserID: userID,
		ExpiresAt: a.now().Add(life).UnixMilli(),
	}
	written, err := json.Marshal(state)
	if err != nil {
		return State{}, "", failed("begin a sign-in", err)
	}
	text := base64.RawURLEncoding.EncodeToString(written)
	signed, err := a.signature(forStates, text)
	if err != nil {
		return State{}, "", err
	}
	return state, text + "." + base64.RawURLEncoding.EncodeToString(signed), nil
}

// TakeState is the state of a cookie, if the value that came back is its own; it is used up, on every process.
func (a *Accounts) TakeState(ctx context.Context, cookie, value string) (State, error) {
	refused := problems.New(problems.OIDCRefused, "This sign-in was not begun in this browser, took too long, or is over. Begin again.")
	text, signature, _ := strings.Cut(cookie, ".")
	signed, err := a.signature(forStates, text)
	if err != nil {
		return State{}, err
	}
	given, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || len(cookie) > maxState || !hmac.Equal(given, signed) {
		return State{}, refused
	}
	var state State
	written, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(written, &state) != nil || a.now().UnixMilli() >= state.ExpiresAt ||
		!hmac.Equal([]byte(value), []byte(state.Value)) {
		return State{}, refused
	}
	first, err := a.usedUp(ctx, state)
	if err != nil {
		return State{}, failed("use up a sign-in", err)
	}
	if !first {
		return State{}, refused
	}
	return state, nil
}

// usedUp marks a state used and reports whether it was not before.
func (a *Accounts) usedUp(ctx context.Context, state State) (first bool, err error) {
	err = a.db.Transaction(ctx, func(tx *gorm.DB) error {
		row := models.UsedState{StateHash: hashOf(state.Value), ExpiresAt: time.UnixMilli(state.ExpiresAt).UTC().Add(time.Minute)}
		written := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&row)
		first = written.RowsAffected == 1
		return written.Error
	})
	return first, err
}
