package budgets

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func pricesFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Rule: prices are one table. The operator's rows count before those that are built in; of several that match, one that
// names the provider counts before others, then the longest name. The engines that are built in cost nothing, said so.
func TestTheOperatorsPricesCountFirst(t *testing.T) {
	t.Parallel()
	prices, err := LoadPrices(pricesFile(t, `
currency: USD
audio:
  - {model: "whisper*", provider: speech.example.org, per_minute: 0}
  - {model: "large-*", per_minute: 0.001}
text:
  - {model: "gpt-4o*", input: 7, output: 8}
  - {model: llama, input: 0, output: 0}
  - {model: llama, provider: paid.example.org, input: 1.5, output: 0.25}
`))
	if err != nil {
		t.Fatal(err)
	}
	heard, read := Measure{Audio: time.Second}, Measure{Input: 1}
	for _, c := range []struct {
		provider, model string
		work            Measure
		want            string
	}{
		{"speech.example.org", "whisper-1", heard, "0 USD per minute"},
		{"openai", "whisper-1", heard, "0.006 USD per minute"},
		{"anywhere", "large-v3", heard, "0.001 USD per minute"},
		{"embedded", "pocketsphinx", heard, "0 USD per minute"},
		{"openai", "gpt-4o-mini", read, "7 in, 8 out, USD per million tokens"},
		{"openai", "gpt-4.1-mini-2025", read, "0.4 in, 1.6 out, USD per million tokens"},
		{"openai", "gpt-4.1", read, "2 in, 8 out, USD per million tokens"},
		{"anywhere", "llama", read, "0 in, 0 out, USD per million tokens"},
		{"paid.example.org", "llama", read, "1.5 in, 0.25 out, USD per million tokens"},
		{"embedded", "embedded-extractive", read, "0 in, 0 out, USD per million tokens"},
		{"openai", "gpt-4.1-preview", read, "unknown"},
		{"anywhere", "llama2", read, "unknown"},
		{"anywhere", "llama", heard, "unknown"}, // nobody pays for audio by the token
		{"openai", "pocketsphinx", heard, "unknown"},
	} {
		found, known := prices.find(Engine{c.provider, c.model}, c.work)
		if found.String() != c.want || known != (c.want != "unknown") {
			t.Errorf("%s of %s costs %s (known %v), want %s", c.model, c.provider, found, known, c.want)
		}
	}
}

// Rule: a file of prices that is not understood in full stops the start; nothing of it is guessed.
func TestBrokenPricesAreRefused(t *testing.T) {
	t.Parallel()
	for text, names := range map[string]string{
		"currency: EUR\n": "currency",
		"text: []\n":      "currency",
		"currency: USD\ntext:\n  - {model: m, input: 1}\n":                                                 "m: a price",
		"currency: USD\ntext:\n  - {model: m, input: -1, output: 1}\n":                                     "m: a price",
		"currency: USD\ntext:\n  - {model: m, input: 10001, output: 1}\n":                                  "10000",
		"currency: USD\ntext:\n  - {model: m, input: .nan, output: 1}\n":                                   "m: a price",
		"currency: USD\ntext:\n  - {model: m, input: free, output: 1}\n":                                   "free",
		"currency: USD\ntext:\n  - {model: m, input: 1, output: 1, per_minute: 1}\n":                       "per_minute",
		"currency: USD\naudio:\n  - {model: m, per_minute: 1, input: 1}\n":                                 "per_minute",
		"currency: USD\naudio:\n  - {model: m}\n":                                                          "m: a price",
		"currency: USD\naudio:\n  - {per_minute: 1}\n":                                                     "no model",
		"currency: USD\ntext:\n  - {model: m, input: 1, output: 1, per_million: 2}\n":                      "per_million",
		"currency: USD\ntext:\n  - {model: m, input: 1, output: 1}\n  - {model: m, input: 0, output: 0}\n": "m has two prices",
		"currency: USD\n---\ncurrency: USD\n":                                                              "one document",
		"currency: USD\nvideo: []\n":                                                                       "video",
		"currency: [\n":                                                                                    "prices.yaml",
		"currency: USD\n#" + strings.Repeat("x", maxPricesBytes):                                           "larger",
	} {
		_, err := LoadPrices(pricesFile(t, text))
		if err == nil || !strings.Contains(err.Error(), names) || !strings.Contains(err.Error(), "PRICES_FILE") {
			t.Errorf("%.80q: %v, want an error of PRICES_FILE that names %q", text, err, names)
		}
	}
	if _, err := LoadPrices(filepath.Join(t.TempDir(), "none.yaml")); err == nil {
		t.Error("a file that is not there was read")
	}
	if _, err := LoadPrices("/dev/zero"); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("a file without end was read: %v", err)
	}
}

// Rule: what is charged is never below the bill: every price rounds up, and the largest sums do not overflow.
func TestPricesRoundUp(t *testing.T) {
	t.Parallel()
	minute := price{audio: true, perMinute: 6000, known: true}
	tokens := price{input: 150_000, output: 600_000, known: true}
	dearest := micros(maxPrice)
	for _, c := range []struct {
		price price
		work  Measure
		want  int64
	}{
		{minute, Measure{Audio: time.Minute}, 6000},
		{minute, Measure{Audio: time.Minute + 1}, 6001},
		{minute, Measure{Audio: time.Nanosecond}, 1},
		{tokens, Measure{Input: 1_000_000}, 150_000},
		{tokens, Measure{Input: 1}, 1},
		{tokens, Measure{Output: 5}, 3},
		{tokens, Measure{}, 0},
		{price{audio: true, perMinute: dearest}, Measure{Audio: maxAudio}, 600_000_000_000_000},
		{price{input: dearest}, Measure{Input: maxTokens}, 10_000_000_000_000},
	} {
		if got := c.price.micros(c.work); got != c.want {
			t.Errorf("%+v at %s costs %d micro-dollars, want %d", c.work, c.price, got, c.want)
		}
	}
	for dollars, want := range map[float64]int64{0: 0, 0.0000004: 1, 0.0000015: 2, 0.006: 6000, 1.10: 1_100_000, 9999.99: 9_999_990_000} {
		if got := micros(dollars); got != want {
			t.Errorf("%v dollars are %d micro-dollars, want %d", dollars, got, want)
		}
	}
	if most := (Measure{math.MaxInt64, -3, math.MaxInt64}).bounded(); most != (Measure{maxTokens, 0, maxAudio}) {
		t.Errorf("what cannot be is bounded to %+v", most)
	}
}
