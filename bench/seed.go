package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/tokens"
)

// Who sends the requests.
const (
	accountCount     = 16
	tokensPerAccount = 4
)

// minted is one token and its account.
type minted struct {
	account int64
	token   string
}

func (b *bench) dataFolder() string { return filepath.Join(b.work, "data") }
func (b *bench) tokensFile() string { return filepath.Join(b.work, "tokens") }
func (b *bench) answerFile() string { return filepath.Join(b.work, "answer.json") }

// seed makes the accounts and tokens in the database at the URL, as the server's own commands would.
func seed(ctx context.Context, url string) (made []minted, err error) {
	db, err := models.Open(ctx, models.Options{URL: url, Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("opening the database of the bench: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Migrate(ctx, jobs.Migrate); err != nil {
		return nil, fmt.Errorf("migrating the database of the bench: %w", err)
	}
	people, keys := accounts.New(db, accounts.Options{}), tokens.New(db, tokens.Options{})
	for i := range accountCount {
		user, err := people.Create(ctx, accounts.NewUser{
			Email: fmt.Sprintf("account%d@example.org", i), Username: fmt.Sprintf("account%d", i), Password: "a long enough one",
		})
		if err != nil {
			return nil, fmt.Errorf("making an account: %w", err)
		}
		for range tokensPerAccount {
			plain, _, err := keys.Create(ctx, tokens.Wish{UserID: user.ID})
			if err != nil {
				return nil, fmt.Errorf("making a token: %w", err)
			}
			made = append(made, minted{user.ID, plain})
		}
	}
	return made, nil
}

// writeTokens writes the tokens down for the load generator and the peers.
func (b *bench) writeTokens() (err error) {
	file, err := os.OpenFile(b.tokensFile(), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("writing the tokens: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewWriter(file)
	for _, m := range b.tokens {
		fmt.Fprintln(lines, m.account, m.token)
	}
	return lines.Flush()
}
