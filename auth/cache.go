package auth

import (
	"context"
	"sync"
	"time"
)

// maxRemembered bounds how many tokens a process remembers between two changes.
const maxRemembered = 100_000

// rememberedFor is how old a remembered row may be. The change counter tells of every change, whoever made it; should
// one ever be made past it, with the database's triggers off, it holds after that time.
const rememberedFor = time.Minute

// lookups remembers the tokens it was told of. What it remembers counts only while the change counter stands
// where it stood before the row was read, and for a minute at most, so that memory never decides that a token is
// valid; a look-up that found nothing is not remembered at all.
type lookups struct {
	finder TokenFinder
	max    int
	// clock is the machine's own: a clock of rules that is set back must not keep a dead credential alive.
	clock func() time.Time

	mu       sync.Mutex // protects known and inFlight
	known    map[[32]byte]remembered
	inFlight map[flight]*lookup
}

type remembered struct {
	token   Token
	changes int64
	asked   time.Time // when the reading of the row began
}

// flight names one look-up that several requests may wait for. The counter is part of it: whoever saw a later
// count must not be told what was read before that change.
type flight struct {
	hash    [32]byte
	changes int64
}

type lookup struct {
	done  chan struct{}
	token Token
	found bool
	err   error
	// abandoned is true when the request that asked went away before the answer came: others ask again.
	abandoned bool
}

func newLookups(finder TokenFinder, max int) *lookups {
	return &lookups{
		finder: finder, max: max, clock: time.Now,
		known: make(map[[32]byte]remembered), inFlight: make(map[flight]*lookup),
	}
}

// find tells what is known of a token now. An error means that it could not be told.
func (l *lookups) find(ctx context.Context, hash [32]byte) (Token, bool, error) {
	for {
		changes, err := l.finder.Changes(ctx)
		if err != nil {
			return Token{}, false, err
		}
		token, ok, call, leads := l.recall(flight{hash, changes})
		switch {
		case ok:
			return token, true, nil
		case leads:
			l.load(ctx, flight{hash, changes}, call)
			return call.token, call.found, call.err
		}
		select {
		case <-call.done:
		case <-ctx.Done():
			return Token{}, false, ctx.Err()
		}
		if !call.abandoned {
			return call.token, call.found, call.err
		}
	}
}

// recall answers from memory, or joins a look-up under way, or begins one that the caller must lead.
func (l *lookups) recall(key flight) (token Token, ok bool, call *lookup, leads bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.known[key.hash]; ok && known.changes == key.changes && l.clock().Sub(known.asked) < rememberedFor {
		return known.token, true, nil, false
	}
	if call, ok := l.inFlight[key]; ok {
		return Token{}, false, call, false
	}
	call = &lookup{done: make(chan struct{})}
	l.inFlight[key] = call
	return Token{}, false, call, true
}

// load asks the finder and wakes whoever waits, also when the finder panics.
func (l *lookups) load(ctx context.Context, key flight, call *lookup) {
	call.abandoned = true
	asked := l.clock()
	defer func() {
		l.mu.Lock()
		delete(l.inFlight, key)
		if call.found && call.err == nil {
			l.remember(key, remembered{call.token, key.changes, asked})
		}
		l.mu.Unlock()
		close(call.done)
	}()
	call.token, call.found, call.err = l.finder.FindToken(ctx, key.hash)
	call.abandoned = call.err != nil && ctx.Err() != nil
}

// remember keeps a token and, at the bound, forgets an arbitrary other one. The caller holds mu.
func (l *lookups) remember(key flight, found remembered) {
	known, ok := l.known[key.hash]
	if ok && known.changes > found.changes {
		return
	}
	if !ok && len(l.known) >= l.max {
		for other := range l.known {
			delete(l.known, other)
			break
		}
	}
	l.known[key.hash] = found
}
