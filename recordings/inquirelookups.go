package recordings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/models"
)

// The bounds of look-ups.
const (
	maxToolExcerpts     = 40
	usualToolExcerpts   = 8
	maxToolRecordings   = 100
	usualToolRecordings = 25
	maxToolLines        = 400
	usualToolLines      = 150
	maxOffset           = 1 << 30 // more than any transcript has lines
	maxToolQuery        = 1000    // characters
	// plainUnit is how many characters of a transcript without times count as a line.
	plainUnit = 200
	// maxListed is how much of the participants a list shows, in characters.
	maxListed = 200
)

// nothing is a look-up that found none.
func nothing() agent.Result { return agent.Result{Text: "Nothing was found.", Empty: true} }

type searchArguments struct {
	narrowing

	Query string `json:"query"`
	TopK  *count `json:"top_k"`
	Mode  string `json:"mode"`
}

func (l lookups) searching() agent.Tool {
	described := llm.Tool{
		Name: "search_transcripts", Description: "Finds the passages of transcripts that share most words with a query.",
		Parameters: object([]string{"query"}, `"query":{"type":"string","description":"Words that people are likely to have said."},`+
			number("top_k", 1, maxToolExcerpts, usualToolExcerpts, "How many passages")+
			`,"mode":{"type":"string","enum":["auto","keyword"]},`+speakersSchema()+","+periodSchema),
	}
	return lookup(l, described, "Searching transcripts", "search", func(at looked, asked searchArguments) (agent.Result, error) {
		most, err := bounded("top_k", asked.TopK, usualToolExcerpts, 1, maxToolExcerpts)
		switch {
		case err != nil:
			return agent.Result{}, err
		case strings.TrimSpace(asked.Query) == "" || len([]rune(asked.Query)) > maxToolQuery:
			return agent.Result{}, agent.Mistake(fmt.Sprintf("query must be text of 1 to %d characters.", maxToolQuery))
		case !slices.Contains([]string{"", "auto", "keyword"}, asked.Mode):
			return agent.Result{}, agent.Mistake("mode must be auto or keyword: there is no search by meaning.")
		}
		query, none, err := l.narrow(asked.narrowing)
		if err != nil {
			return agent.Result{}, err
		}
		if none {
			return nothing(), nil
		}
		found, err := l.s.excerpts(at.db, at.p, query, asked.Query, most, true)
		if err != nil {
			return agent.Result{}, err
		}
		if len(found) == 0 {
			return nothing(), nil
		}
		return agent.Result{Text: l.asked.shown.excerpts(found, l.asked.zone), Detail: howMany(len(found), "passage")}, nil
	})
}

type listArguments struct {
	narrowing

	Sort        string `json:"sort"`
	Limit       *count `json:"limit"`
	Participant string `json:"participant"`
}

func (l lookups) listing() agent.Tool {
	described := llm.Tool{
		Name: "list_recordings", Description: "Lists recordings with their titles, dates, lengths and participants.",
		Parameters: object(nil, `"sort":{"type":"string","enum":["newest","oldest"]},`+
			number("limit", 1, maxToolRecordings, usualToolRecordings, "How many recordings")+
			`,"participant":{"type":"string","description":"A name: only where this person takes part or speaks."},`+periodSchema),
	}
	return lookup(l, described, "Listing recordings", "list", func(at looked, asked listArguments) (agent.Result, error) {
		most, err := bounded("limit", asked.Limit, usualToolRecordings, 1, maxToolRecordings)
		switch {
		case err != nil:
			return agent.Result{}, err
		case !slices.Contains([]string{"", "newest", "oldest"}, asked.Sort):
			return agent.Result{}, agent.Mistake("sort must be newest or oldest.")
		case speakerNames([]string{asked.Participant}) == nil:
			return agent.Result{}, agent.Mistake(fmt.Sprintf("participant must be a name of at most %d characters.", maxSpeakerChars))
		}
		query, none, err := l.narrow(narrowing{From: asked.From, Until: asked.Until})
		if err != nil || none {
			return nothing(), err
		}
		query.Oldest = asked.Sort == "oldest"
		rows, err := l.listed(at, query, asked.Participant, most)
		if err != nil {
			return agent.Result{}, err
		}
		if len(rows) == 0 {
			return nothing(), nil
		}
		lines := make([]string, len(rows))
		for i, row := range rows {
			lines[i] = "- " + l.headed(row)
			if length := minutes(row); length != "" {
				lines[i] += ", " + length
			}
			if with := strings.Join(strings.Fields(given(row.Participants)), " "); with != "" {
				lines[i] += ", with " + cutTo(with, maxListed)
			}
		}
		return agent.Result{Text: strings.Join(lines, "\n"), Detail: howMany(len(rows), "recording")}, nil
	})
}

// listed are the first recordings of a query, without their texts. A person is looked for in the first maxScan.
func (l lookups) listed(at looked, query Query, participant string, most int) (rows []models.Recording, err error) {
	name := speakerNames([]string{participant})
	if len(name) == 0 {
		err = withoutTexts(l.s.among(at.db, at.p, query)).Limit(most).Find(&rows).Error
		return rows, err
	}
	if err = withoutTexts(l.s.among(at.db, at.p, query)).Limit(maxScan).Find(&rows).Error; err != nil {
		return nil, err
	}
	var speaking []int64
	if err = l.s.speaking(l.s.among(at.db, at.p, query), name).Limit(maxScan).Pluck("id", &speaking).Error; err != nil {
		return nil, err
	}
	speaks := set(speaking)
	rows = slices.DeleteFunc(rows, func(row models.Recording) bool {
		return !speaks[row.ID] && !strings.Contains(fold(given(row.Participants)), name[0])
	})
	return rows[:min(len(rows), most)], nil
}

type transcriptArguments struct {
	byID

	Offset *count `json:"offset"`
	Limit  *count `json:"limit"`
}

func (l lookups) transcripts() agent.Tool {
	described := llm.Tool{
		Name: "get_transcript", Description: "Reads the transcript of one recording line by line, each with the link to its moment.",
		Parameters: object([]string{"recording_id"}, byIDSchema+","+number("offset", 0, maxOffset, 0, "How many lines to pass over")+","+
			number("limit", 1, maxToolLines, usualToolLines, "How many lines")),
	}
	return lookup(l, described, "Reading a transcript", "file", func(at looked, asked transcriptArguments) (agent.Result, error) {
		limit, err := bounded("limit", asked.Limit, usualToolLines, 1, maxToolLines)
		if err != nil {
			return agent.Result{}, err
		}
		offset, err := bounded("offset", asked.Offset, 0, 0, maxOffset)
		if err != nil {
			return agent.Result{}, err
		}
		row, err := l.find(at, asked.ID)
		if err != nil {
			return agent.Result{}, err
		}
		transcript, _, err := loadTranscript(at.db, row)
		if err != nil {
			return agent.Result{}, err
		}
		lines := l.linesOf(row, transcript)
		if offset >= len(lines) {
			return agent.Result{Text: fmt.Sprintf("%s\nIts transcript has %s.", l.headed(row), howMany(len(lines), "line")), Empty: true}, nil
		}
		until := min(offset+limit, len(lines))
		heading := fmt.Sprintf("%s, lines %d to %d of %d", l.headed(row), offset, until-1, len(lines))
		return agent.Result{
			Text: heading + "\n" + strings.Join(lines[offset:until], "\n"), Detail: howMany(until-offset, "line"),
		}, nil
	})
}

// linesOf is a transcript line by line, as far as the question is about who speaks.
func (l lookups) linesOf(row models.Recording, transcript Transcript) []string {
	passages := passagesOf(transcript)
	if transcript.Kind == Plain {
		whole := llm.Passage{Text: strings.Join(strings.Fields(transcript.Raw), " ")}
		passages = cutUp(whole, plainUnit)
	}
	var lines []string
	for _, passage := range l.asked.query.heard(passages) {
		line := strings.Join(strings.Fields(passage.Text), " ")
		if line == "" {
			continue
		}
		if passage.Speaker != "" {
			line = passage.Speaker + ": " + line
		}
		if clock := passage.Clock(); clock != "" {
			line = linkTo(row.ID, clock, passage.Start) + " " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// howMany says how many there are.
func howMany(many int, what string) string {
	if many == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", many, what)
}
