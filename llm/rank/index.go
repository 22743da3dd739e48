package rank

import (
	"math"
	"slices"
)

// Index is a text in units, ready to be ranked. All sums run in the order of the text: the same text has the same
// ranks on every machine.
type Index struct {
	units []unit
	known map[string]int // the number of a term
	in    []int          // in how many units the term with this number is
	words float64        // in all units
}

// unit is one as its terms.
type unit struct {
	terms  []int // each once, in the order of the text
	counts []float64
	words  float64
}

// NewIndex reads the units.
func NewIndex(texts []string) *Index {
	x := &Index{units: make([]unit, len(texts)), known: map[string]int{}}
	for i, text := range texts {
		u := &x.units[i]
		places := map[int]int{}
		for _, term := range terms(text) {
			number := x.number(term)
			place, again := places[number]
			if !again {
				place = len(u.terms)
				places[number] = place
				u.terms, u.counts = append(u.terms, number), append(u.counts, 0)
				x.in[number]++
			}
			u.counts[place]++
			u.words++
		}
		x.words += u.words
	}
	return x
}

func (x *Index) number(term string) int {
	number, known := x.known[term]
	if !known {
		number = len(x.in)
		x.known[term] = number
		x.in = append(x.in, 0)
	}
	return number
}

// fewWords is how many words a unit needs to stand for more than itself.
const fewWords = 5

// Central tells for each unit how near it is to the middle of all: the cosine between its terms and the sum of all,
// rare terms weighing more. A unit of few words counts less: "Yes, the budget." is near the middle and says nothing.
func (x *Index) Central() []float64 {
	middle := make([]float64, len(x.in))
	for _, u := range x.units {
		for i, term := range u.terms {
			middle[term] += u.counts[i] * x.rarity(term)
		}
	}
	scores := make([]float64, len(x.units))
	for n, u := range x.units {
		var along, length float64
		for i, term := range u.terms {
			weight := u.counts[i] * x.rarity(term)
			along += weight * middle[term]
			length += weight * weight
		}
		if length > 0 {
			scores[n] = along / math.Sqrt(length) * min(1, u.words/fewWords)
		}
	}
	return scores
}

func (x *Index) rarity(term int) float64 {
	return math.Log(1 + float64(len(x.units))/float64(x.in[term]))
}

// Asks reports whether a question has a word to look for at all.
func Asks(question string) bool { return len(terms(question)) > 0 }

// Match tells for each unit how well it matches a question, by BM25; 0 where they share no term.
func (x *Index) Match(question string) []float64 {
	const saturation, lengths = 1.2, 0.75
	asked := map[int]bool{}
	for _, term := range terms(question) {
		if number, known := x.known[term]; known {
			asked[number] = true
		}
	}
	average := max(1, x.words/float64(max(1, len(x.units))))
	scores := make([]float64, len(x.units))
	for n, u := range x.units {
		for i, term := range u.terms {
			if asked[term] {
				in, all := float64(x.in[term]), float64(len(x.units))
				rarity := math.Log(1 + (all-in+0.5)/(in+0.5))
				scores[n] += rarity * u.counts[i] * (saturation + 1) /
					(u.counts[i] + saturation*(1-lengths+lengths*u.words/average))
			}
		}
	}
	return scores
}

// alike is the share of terms beyond which two units say the same.
const alike = 0.6

// Best are the numbers of the best units, best first and at most so many. Units without a score are not among them,
// nor is one that says again what a better one says.
func (x *Index) Best(scores []float64, most int) []int {
	order := make([]int, 0, len(scores))
	for n, score := range scores {
		if score > 0 {
			order = append(order, n)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case scores[a] > scores[b]:
			return -1
		case scores[a] < scores[b]:
			return 1
		}
		return 0
	})
	var best []int
	for _, n := range order {
		if len(best) == most {
			break
		}
		if !slices.ContainsFunc(best, func(b int) bool { return x.alike(n, b) }) {
			best = append(best, n)
		}
	}
	return best
}

func (x *Index) alike(a, b int) bool {
	one, other := x.units[a].terms, x.units[b].terms
	shared := 0
	for _, term := range one {
		if slices.Contains(other, term) {
			shared++
		}
	}
	return float64(shared) > alike*float64(len(one)+len(other)-shared)
}
