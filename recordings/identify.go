package recordings

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/prompts"
	"github.com/stenometer/stenometer/problems"
)

var (
	inParentheses = regexp.MustCompile(`\([^()]*\)`)
	// labelLike is what engines and models call somebody of whom they know no name.
	labelLike = regexp.MustCompile(`(?i)^((unknown[ _]?)?(speaker|voice|person|participant)[ _-]*([a-z]|\d+)?|[a-z]|\d+)$`)
	// nobodyNamed are answers of models that mean "not found".
	nobodyNamed = []string{"unknown", "n/a", "na", "none", "null", "not found", "not mentioned", "unidentified", "unnamed", "anonymous", "?", "-"}
)

// Identified are the names that a model suggests for the speakers of a recording; Names has exactly their labels, with
// "" for those of whom nothing is found. Names is nil for a caller that may not read: no model is asked for it then.
type Identified struct {
	Names   map[string]string
	LeftOut *string
}

// IdentifySpeakers has a model read out of a recording that the caller may see who its speakers are, while the caller waits.
// Nothing is stored: people decide.
func (s *Recordings) IdentifySpeakers(ctx context.Context, p auth.Principal, purse budgets.Purse, id int64) (Identified, error) {
	db := s.db.Read.WithContext(ctx)
	row, err := s.visible(db, p, id)
	if err != nil {
		return Identified{}, err
	}
	words, err := s.spokenIn(db, row)
	if err != nil {
		return Identified{}, err
	}
	labels := labelsOf(words)
	if len(labels) == 0 {
		return Identified{}, problems.New(problems.InvalidState, "The transcript does not tell its speakers apart.")
	}
	if len(labels) > maxAssignments {
		return Identified{}, problems.New(problems.InvalidState, "The transcript has more than %d speakers.", maxAssignments)
	}
	if err := s.can(budgets.IdentifyingSpeakers); err != nil {
		return Identified{}, err
	}
	if !p.MayRead() {
		return Identified{}, nil
	}
	asked := errand{operation: budgets.IdentifyingSpeakers}
	for _, part := range words.parts {
		asked.parts = append(asked.parts, llm.Request{
			Operation: budgets.IdentifyingSpeakers, MaxTokens: s.TextBounds.EventTokens, Temperature: readingTemperature, JSON: true,
			Messages: prompts.Speakers(prompts.SpeakersInput{Labels: labels, Transcript: prompts.Transcript(part, false, false)}),
			Material: llm.Material{Passages: part},
		})
	}
	answers, err := s.run(ctx, purse.About(id), asked)
	if err != nil {
		return Identified{}, modelProblem("identify the speakers", err)
	}
	found := Identified{Names: map[string]string{}, LeftOut: optional(words.leftOut)}
	for _, label := range labels {
		found.Names[label] = ""
	}
	for _, answer := range answers {
		if err := found.take(answer.Text); err != nil {
			return Identified{}, err
		}
	}
	return found, nil
}

// labelsOf are what the transcript calls its speakers, in the order in which they are heard.
func labelsOf(words spoken) []string {
	var labels []string
	seen := map[string]bool{}
	for _, passage := range words.all {
		if label := passage.Speaker; words.timed() && label != "" && !seen[label] {
			seen[label] = true
			labels = append(labels, label)
		}
	}
	return labels
}

// take reads the answer about one part. What was found earlier stays: people introduce themselves first.
func (i Identified) take(answer string) error {
	var said map[string]any
	if err := json.Unmarshal([]byte(answer), &said); err != nil {
		return unreadable("names of speakers").Because(err)
	}
	byLabel := i.labels()
	for _, key := range slices.Sorted(maps.Keys(said)) {
		text, _ := said[key].(string)
		label, known := i.label(key, byLabel)
		name := text
		if !known { // the map may be turned about: name to label
			label, known = i.label(text, byLabel)
			name = key
		}
		if known && i.Names[label] == "" {
			i.Names[label] = cleanName(name)
		}
	}
	return nil
}

// label is the one that a model means. Two may differ in nothing but what models do not mind: then only its own spelling
// is one.
func (i Identified) label(said string, folded map[string]string) (label string, known bool) {
	if _, exact := i.Names[said]; exact {
		return said, true
	}
	if text := foldLabel(said); text != "" {
		label = folded[text]
	}
	return label, label != ""
}

// labels are the keys as models may write them; those that could be two are none.
func (i Identified) labels() map[string]string {
	labels := make(map[string]string, len(i.Names))
	for label := range i.Names {
		folded := foldLabel(label)
		if _, taken := labels[folded]; taken {
			label = ""
		}
		labels[folded] = label
	}
	return labels
}

func foldLabel(label string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.Trim(strings.TrimSpace(label), "[]:")), " "))
}

// cleanName makes a name of what a model answered, "" where that is none.
func cleanName(said string) string {
	name := inParentheses.ReplaceAllString(strings.Map(visible, said), " ")
	if !names(name) {
		return ""
	}
	if at := strings.IndexAny(name, ",;/"); at >= 0 {
		name = name[:at]
	}
	if name = strings.Join(strings.Fields(name), " "); !names(name) || utf8.RuneCountInString(name) > maxSpeakerName {
		return ""
	}
	return name
}

// names reports whether a text is no placeholder.
func names(text string) bool {
	text = strings.TrimSpace(text)
	return !slices.Contains(nobodyNamed, strings.ToLower(text)) && !labelLike.MatchString(text)
}
