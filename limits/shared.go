package limits

import "context"

// Shared is a storage that several processes count in. Each of its calls ends within the storage's own timeout, and one
// of Store or Leases fails with problems.LimitsUnavailable where the storage did not decide.
type Shared interface {
	Store
	Leases
	Pinger
}

// Pinger can be asked whether it answers.
type Pinger interface {
	// Ping's error is the reason, for an operator.
	Ping(ctx context.Context) error
}

// Epochs notices that counts were lost.
type Epochs interface {
	// Epoch tells whether the storage has forgotten what was counted since the last call, once to each process. A loss
	// may be told beside an error. What a storage has to mend it mends here, which may take seconds: no request waits
	// for it.
	Epoch(ctx context.Context) (lost bool, err error)
}

// Sweeper is a storage that does not forget by itself.
type Sweeper interface {
	// Sweep lets go of what counts nothing any more. It may take seconds, and lets decisions in between.
	Sweep(ctx context.Context) error
}

var (
	_ Shared = (*Redis)(nil)
	_ Epochs = (*Redis)(nil)

	_ Shared  = (*Postgres)(nil)
	_ Epochs  = (*Postgres)(nil)
	_ Sweeper = (*Postgres)(nil)

	_ Shared  = (*SQLite)(nil)
	_ Epochs  = (*SQLite)(nil)
	_ Sweeper = (*SQLite)(nil)
)
