package budgets

import (
	"math"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
)

// maxTokens and maxAudio bound one piece of work: what is beyond is a mistake, and sums stay far from an overflow.
const (
	maxTokens = 1_000_000_000
	maxAudio  = 1000 * time.Hour
)

// Measure is how much of a model was used, or is to be used at most. Text models count tokens, speech engines audio.
type Measure struct {
	Input, Output int64
	Audio         time.Duration
}

// bounded is the measure without what cannot be.
func (m Measure) bounded() Measure {
	return Measure{
		min(max(m.Input, 0), maxTokens), min(max(m.Output, 0), maxTokens), min(max(m.Audio, 0), maxAudio),
	}
}

// plausible is false of a report that nobody can believe.
func (m Measure) plausible() bool { return m == m.bounded() }

// cut is the measure without what goes beyond an amount: what the ledger tells is what was charged.
func (m Measure) cut(most models.Amount) Measure {
	m.Input = min(m.Input, most.Tokens)
	m.Output = min(m.Output, most.Tokens-m.Input)
	m.Audio = min(m.Audio, time.Duration(most.Seconds)*time.Second)
	return m
}

// amount is what a measure comes to at a price.
func (m Measure) amount(price price) models.Amount {
	m = m.bounded()
	return models.Amount{
		Micros: price.micros(m), Tokens: m.Input + m.Output, Seconds: int64(math.Ceil(m.Audio.Seconds())),
	}
}

// plus and minus are by member.
func plus(a, b models.Amount) models.Amount {
	return models.Amount{Micros: a.Micros + b.Micros, Tokens: a.Tokens + b.Tokens, Seconds: a.Seconds + b.Seconds}
}

func minus(a, b models.Amount) models.Amount {
	return models.Amount{Micros: a.Micros - b.Micros, Tokens: a.Tokens - b.Tokens, Seconds: a.Seconds - b.Seconds}
}

// least is the smaller of both, by member; lacking is what b has beyond a.
func least(a, b models.Amount) models.Amount {
	return models.Amount{Micros: min(a.Micros, b.Micros), Tokens: min(a.Tokens, b.Tokens), Seconds: min(a.Seconds, b.Seconds)}
}

func lacking(a, b models.Amount) models.Amount { return minus(b, least(a, b)) }

// within reports whether a exceeds b in nothing.
func within(a, b models.Amount) bool { return lacking(b, a) == models.Amount{} }

// adding are the columns of a prefix raised by an amount.
func adding(columns map[string]any, prefix string, a models.Amount) map[string]any {
	columns[prefix+"micros"] = gorm.Expr(prefix+"micros + ?", a.Micros)
	columns[prefix+"tokens"] = gorm.Expr(prefix+"tokens + ?", a.Tokens)
	columns[prefix+"seconds"] = gorm.Expr(prefix+"seconds + ?", a.Seconds)
	return columns
}

// setting are the columns of a prefix at an amount.
func setting(columns map[string]any, prefix string, a models.Amount) map[string]any {
	columns[prefix+"micros"], columns[prefix+"tokens"], columns[prefix+"seconds"] = a.Micros, a.Tokens, a.Seconds
	return columns
}
