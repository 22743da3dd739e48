package accounts

import (
	"context"
	"fmt"

	"github.com/alexedwards/argon2id"

	"github.com/stenometer/stenometer/problems"
)

// work is what one hash costs: OWASP's figures of 19 MiB and two passes, one thread, so that the semaphore alone
// says how many cores and how much memory sign-ins may take.
func work() *argon2id.Params {
	return &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}
}

// nobodysHash is compared with where there is no account: same work, and no password matches it, since nobody
// knows what it is the hash of. Its parameters are those of work; a test compares them.
const nobodysHash = "$argon2id$v=19$m=19456,t=2,p=1$DX5bf5GeBXf/k9KVIW/Viw$a/IPFRW/zovvflyJbJXzlPG/AncN5wWeH9Fq1Nasa5I"

// hash makes the form at rest. It waits for its turn at most as long as ctx lives.
func (a *Accounts) hash(ctx context.Context, password string) (string, error) {
	if err := a.hashing.Acquire(ctx, 1); err != nil {
		return "", waited(err)
	}
	defer a.hashing.Release(1)
	hash, err := argon2id.CreateHash(password, work())
	if err != nil {
		return "", fmt.Errorf("hash a password: %w", err)
	}
	return hash, nil
}

// matches compares a password with a hash in constant time, waiting for its turn as hash does.
func (a *Accounts) matches(ctx context.Context, password, hash string) (bool, error) {
	if err := a.hashing.Acquire(ctx, 1); err != nil {
		return false, waited(err)
	}
	defer a.hashing.Release(1)
	match, err := argon2id.ComparePasswordAndHash(password, hash)
	if err != nil {
		return false, fmt.Errorf("compare a password: %w", err)
	}
	return match, nil
}

func waited(err error) error {
	return problems.New(problems.Timeout, "Too many passwords are being verified. Try again.").Because(err)
}
