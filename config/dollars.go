package config

import (
	"errors"
	"math/big"
)

// dollarsAllowed says how a sum of money is written.
const dollarsAllowed = "US dollars from 0 to 1000000000, such as 25 or 12.50, with at most six digits behind the point"

// Dollars is a sum of money. Its zero value is none at all, which is not 0 dollars.
type Dollars struct {
	micros int64
	given  bool
}

// Micros is the sum in micro-dollars, nil where none is given.
func (d Dollars) Micros() *int64 {
	if !d.given {
		return nil
	}
	return &d.micros
}

// ParseDollars reads a sum exactly.
func ParseDollars(text string) (Dollars, error) {
	refused := errors.New("must be " + dollarsAllowed)
	for _, r := range text {
		if (r < '0' || r > '9') && r != '.' {
			return Dollars{}, refused
		}
	}
	sum, ok := new(big.Rat).SetString(text)
	if !ok || len(text) > 20 {
		return Dollars{}, refused
	}
	sum.Mul(sum, big.NewRat(1_000_000, 1))
	if !sum.IsInt() || sum.Cmp(big.NewRat(1e15, 1)) > 0 {
		return Dollars{}, refused
	}
	return Dollars{sum.Num().Int64(), true}, nil
}
