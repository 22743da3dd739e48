package budgets

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

//go:embed prices.yaml
var embeddedPrices []byte

const (
	// maxPrice bounds a price, in dollars per unit: beyond it a figure is a mistake.
	maxPrice = 10_000
	// maxPricesBytes bounds the file of prices.
	maxPricesBytes = 1 << 20
)

// Prices is the one table of what models cost.
type Prices struct{ rows []priceRow }

// priceRow is a row of the table. Without a provider it holds for the model wherever it runs.
type priceRow struct {
	Provider  string   `yaml:"provider"`
	Model     string   `yaml:"model"`
	PerMinute *float64 `yaml:"per_minute"`
	Input     *float64 `yaml:"input"`
	Output    *float64 `yaml:"output"`
}

// price is what a unit costs, in micro-dollars: a minute of audio, a million tokens.
type price struct {
	audio                    bool
	perMinute, input, output int64
	known                    bool
}

// LoadPrices reads the prices that are built in, and the file's before them: a model that both name costs what the file
// says. No file is "".
func LoadPrices(file string) (*Prices, error) {
	prices, err := parsePrices(embeddedPrices)
	if err != nil {
		return nil, fmt.Errorf("read the prices that are built in: %w", err)
	}
	if file == "" {
		return prices, nil
	}
	text, err := readBounded(file)
	if err != nil {
		return nil, fmt.Errorf("read PRICES_FILE: %w", err)
	}
	own, err := parsePrices(text)
	if err != nil {
		return nil, fmt.Errorf("read PRICES_FILE %s: %w", file, err)
	}
	// Of the file's rows the best counts, and only where none matches those that are built in.
	return &Prices{append(own.rows, append([]priceRow{{}}, prices.rows...)...)}, nil
}

// readBounded does not ask how large the file is: devices say 0 and never end.
func readBounded(file string) ([]byte, error) {
	opened, err := os.Open(file)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what was attempted
	}
	defer opened.Close()
	text, err := io.ReadAll(io.LimitReader(opened, maxPricesBytes+1))
	if err == nil && len(text) > maxPricesBytes {
		err = fmt.Errorf("it is larger than %d bytes", maxPricesBytes)
	}
	return text, err
}

func parsePrices(text []byte) (*Prices, error) {
	var table struct {
		Currency string     `yaml:"currency"`
		Audio    []priceRow `yaml:"audio"`
		Text     []priceRow `yaml:"text"`
	}
	loader, err := yaml.NewLoader(strings.NewReader(string(text)), yaml.WithKnownFields())
	if err != nil {
		return nil, err
	}
	if err := loader.Load(&table); err != nil {
		return nil, err
	}
	if err := loader.Load(&struct{}{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("it has more than one document")
	}
	if table.Currency != "USD" {
		return nil, fmt.Errorf("currency is %q; budgets are in USD", table.Currency)
	}
	for _, row := range table.Audio {
		if err := row.check([]*float64{row.PerMinute}, []*float64{row.Input, row.Output}); err != nil {
			return nil, fmt.Errorf("audio: %w", err)
		}
	}
	for _, row := range table.Text {
		if err := row.check([]*float64{row.Input, row.Output}, []*float64{row.PerMinute}); err != nil {
			return nil, fmt.Errorf("text: %w", err)
		}
	}
	for _, kind := range [][]priceRow{table.Audio, table.Text} {
		if err := eachOnce(kind); err != nil {
			return nil, err
		}
	}
	return &Prices{append(table.Audio, table.Text...)}, nil
}

// eachOnce refuses two prices of one model: nobody could tell which of them is charged.
func eachOnce(rows []priceRow) error {
	seen := map[[2]string]bool{}
	for _, row := range rows {
		name := [2]string{row.Provider, row.Model}
		if seen[name] {
			return fmt.Errorf("%s has two prices", row.Model)
		}
		seen[name] = true
	}
	return nil
}

// check refuses a row without a model, without one of its prices, or with one of another kind.
func (r priceRow) check(own, other []*float64) error {
	if r.Model == "" {
		return errors.New("a row names no model")
	}
	for _, figure := range own {
		if figure == nil || math.IsNaN(*figure) || *figure < 0 || *figure > maxPrice {
			return fmt.Errorf("%s: a price is a number of dollars from 0 to %d", r.Model, maxPrice)
		}
	}
	for _, figure := range other {
		if figure != nil {
			return fmt.Errorf("%s: audio is priced per_minute, text by input and output", r.Model)
		}
	}
	return nil
}

// find is the price of a model for work of a measure; known is false where the table has none.
func (p *Prices) find(engine Engine, work Measure) (found price, known bool) {
	audio := work.Audio > 0
	best := -1
	for i, row := range p.rows {
		if row.Model == "" { // the end of the operator's own rows
			if best >= 0 {
				break
			}
			continue
		}
		if (row.PerMinute != nil) != audio || !matches(row.Model, engine.Model) || !matches(row.Provider, engine.Provider) && row.Provider != "" {
			continue
		}
		if best < 0 || p.rows[best].lessSpecific(row) {
			best = i
		}
	}
	if best < 0 {
		return price{audio: audio}, false
	}
	row := p.rows[best]
	if audio {
		return price{audio: true, perMinute: micros(*row.PerMinute), known: true}, true
	}
	return price{input: micros(*row.Input), output: micros(*row.Output), known: true}, true
}

// lessSpecific reports whether another row that matches as well speaks of the model more closely.
func (r priceRow) lessSpecific(other priceRow) bool {
	if (r.Provider == "") != (other.Provider == "") {
		return r.Provider == ""
	}
	return len(other.Model) > len(r.Model)
}

func matches(pattern, name string) bool {
	if prefix, open := strings.CutSuffix(pattern, "*"); open {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// micros rounds up, as every charge does, but for what a decimal fraction is off in binary.
func micros(dollars float64) int64 { return int64(math.Ceil(dollars*1e6 - 1e-3)) }

// micros is what a measure costs, rounded up to a micro-dollar: the sum of many small calls is never below the bill.
func (p price) micros(m Measure) int64 {
	if p.audio {
		return ceilDiv(p.perMinute, m.Audio.Nanoseconds(), time.Minute.Nanoseconds())
	}
	return ceilDiv(p.input, m.Input, 1_000_000) + ceilDiv(p.output, m.Output, 1_000_000)
}

// ceilDiv is a*b/c, rounded up, of what is not negative; a*b may need 128 bits.
func ceilDiv(a, b, c int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	low, carry := bits.Add64(low, uint64(c-1), 0)
	quotient, _ := bits.Div64(high+carry, low, uint64(c))
	return int64(min(quotient, math.MaxInt64/4))
}

// String tells the price as the ledger does.
func (p price) String() string {
	switch {
	case !p.known:
		return "unknown"
	case p.audio:
		return written(p.perMinute) + " USD per minute"
	}
	return written(p.input) + " in, " + written(p.output) + " out, USD per million tokens"
}
