package recordings

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/models"
)

// looked is the database and the caller of one look-up.
type looked struct {
	db *gorm.DB
	p  auth.Principal
}

// lookup is a tool whose arguments are an A. Each call looks at the caller's rights first.
func lookup[A any](l lookups, described llm.Tool, label, icon string, run func(at looked, arguments A) (agent.Result, error)) agent.Tool {
	return agent.Tool{Tool: described, Label: label, Icon: icon, Run: func(ctx context.Context, raw json.RawMessage) (agent.Result, error) {
		now, err := l.caller(ctx)
		if err != nil {
			return agent.Result{}, err
		}
		var arguments A
		if len(bytes.TrimSpace(raw)) > 0 && json.Unmarshal(raw, &arguments) != nil {
			return agent.Result{}, agent.Mistake("The arguments are not what " + described.Name + " takes: see its parameters.")
		}
		result, err := run(looked{l.s.db.Read.WithContext(ctx), now}, arguments)
		if _, mistaken := err.(agent.Mistake); err != nil && !mistaken { //nolint:errorlint // ours, made just above
			return agent.Result{}, unavailable("look up what the model asks for", err)
		}
		return result, err
	}}
}

// count is a whole number, which models also write as text.
type count int64

// UnmarshalJSON reads either.
func (c *count) UnmarshalJSON(raw []byte) error {
	number, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	*c = count(number)
	return err //nolint:wrapcheck // the model is told that its arguments are wrong, and no more
}

// bounded is a number that the model may leave out.
func bounded(name string, asked *count, otherwise, least, most int) (int, error) {
	if asked == nil {
		return otherwise, nil
	}
	if *asked < count(least) || *asked > count(most) {
		return 0, agent.Mistake(fmt.Sprintf("%s must be a whole number from %d to %d.", name, least, most))
	}
	return int(*asked), nil
}

// narrowing are the arguments that cut down what is looked through.
type narrowing struct {
	Speakers []string `json:"speakers"`
	From     string   `json:"date_from"`
	Until    string   `json:"date_to"`
}

// maxToolSpeakers bounds the people that one look-up names.
const maxToolSpeakers = 10

// narrow is what the question is about, cut down further: the model can leave no filter out. none is true where nothing
// is left.
func (l lookups) narrow(to narrowing) (query Query, none bool, err error) {
	query = l.asked.query
	from, until, fault := period(to.From, to.Until)
	if fault != "" {
		return query, false, agent.Mistake(fault + " must be a date such as 2026-11-30.")
	}
	if from != nil && (query.From == nil || from.After(*query.From)) {
		query.From = from
	}
	if until != nil && (query.Until == nil || until.Before(*query.Until)) {
		query.Until = until
	}
	speakers := speakerNames(to.Speakers)
	if speakers == nil || len(speakers) > maxToolSpeakers {
		return query, false, agent.Mistake(fmt.Sprintf("speakers must be at most %d names.", maxToolSpeakers))
	}
	if len(speakers) == 0 {
		return query, false, nil
	}
	if asked := query.Speakers; len(asked) > 0 {
		speakers = slices.DeleteFunc(speakers, func(name string) bool { return !slices.Contains(asked, name) })
	}
	query.Speakers = speakers
	return query, len(speakers) == 0, nil
}

// find is a recording that the question is about; every other one does not exist.
func (l lookups) find(at looked, id count) (models.Recording, error) {
	var rows []models.Recording
	if err := l.s.among(at.db, at.p, l.asked.query).Where("id = ?", int64(id)).Limit(1).Find(&rows).Error; err != nil {
		return models.Recording{}, err
	}
	if len(rows) == 0 {
		return models.Recording{}, agent.Mistake("There is no such recording.")
	}
	return rows[0], asSeen(at.db, at.p, rows)
}

// headed is the link to a recording and its day.
func (l lookups) headed(row models.Recording) string {
	of := candidate{ID: row.ID, Title: row.Title, MeetingDate: row.MeetingDate, CreatedAt: row.CreatedAt}
	return l.asked.shown.link(of, nil) + ", " + of.dated(Query{}).In(l.asked.zone).Format(time.DateOnly)
}

// object is the JSON schema of arguments.
func object(required []string, properties string) json.RawMessage {
	names, _ := json.Marshal(append([]string{}, required...))
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":` + string(names) + `}`)
}

// number is the schema of an argument that bounded reads.
func number(name string, least, most, otherwise int, what string) string {
	return fmt.Sprintf(`"%s":{"type":"integer","minimum":%d,"maximum":%d,"description":"%s; %d by itself."}`, name, least, most, what, otherwise)
}

func speakersSchema() string {
	return fmt.Sprintf(`"speakers":{"type":"array","items":{"type":"string"},"maxItems":%d,"description":"Only what these people say."}`, maxToolSpeakers)
}

const (
	periodSchema = `"date_from":{"type":"string","description":"A date such as 2026-11-30; nothing earlier."},"date_to":{"type":"string","description":"A date; nothing later."}`
	byIDSchema   = `"recording_id":{"type":"integer","description":"The number in the address of its link."}`
)

// byID are the arguments of a look-up of one recording.
type byID struct {
	ID count `json:"recording_id"`
}

func (l lookups) metadata() agent.Tool {
	described := llm.Tool{
		Name: "get_recording_metadata", Description: "Title, date, length, participants, speakers, tags and folder of one recording.",
		Parameters: object([]string{"recording_id"}, byIDSchema),
	}
	return lookup(l, described, "Looking at a recording", "info", func(at looked, asked byID) (agent.Result, error) {
		row, err := l.find(at, asked.ID)
		if err != nil {
			return agent.Result{}, err
		}
		around, err := placedAt(at.db, row)
		if err != nil {
			return agent.Result{}, err
		}
		around = around.seenBy(at.p)
		transcript, _, err := loadTranscript(at.db, row)
		if err != nil {
			return agent.Result{}, err
		}
		lines := []string{l.headed(row)}
		add := func(name, value string) {
			if value = strings.Join(strings.Fields(value), " "); value != "" {
				lines = append(lines, name+": "+value)
			}
		}
		add("Length", minutes(row))
		add("Participants", given(row.Participants))
		add("Speakers", strings.Join(voicesIn(l.asked.query.heard(passagesOf(transcript))), ", "))
		tags := make([]string, len(around.tags))
		for i, tag := range around.tags {
			tags[i] = tag.Name
		}
		add("Tags", strings.Join(tags, ", "))
		if around.folder != nil {
			add("Folder", around.folder.Name)
		}
		return agent.Result{Text: strings.Join(lines, "\n")}, nil
	})
}

// maxVoices bounds the names that a recording's metadata list.
const maxVoices = 50

// voicesIn are who speaks, each once.
func voicesIn(passages []llm.Passage) []string {
	var voices []string
	for _, passage := range passages {
		if passage.Speaker != "" && len(voices) < maxVoices && !slices.Contains(voices, passage.Speaker) {
			voices = append(voices, passage.Speaker)
		}
	}
	return voices
}

// minutes is how long a recording is; "" where nobody knows.
func minutes(row models.Recording) string {
	if row.AudioDuration == nil {
		return ""
	}
	return strconv.Itoa(int(*row.AudioDuration+59)/60) + " min"
}

func (l lookups) summaries() agent.Tool {
	return l.text("get_summary", "The summary of one recording.", "Reading a summary", "file-text", func(row models.Recording) *string { return row.Summary })
}

func (l lookups) notes() agent.Tool {
	return l.text("get_notes", "The notes that the person took about one recording.", "Reading notes", "edit", func(row models.Recording) *string { return row.Notes })
}

// text is a tool that reads a text of a recording.
func (l lookups) text(name, description, label, icon string, of func(models.Recording) *string) agent.Tool {
	described := llm.Tool{Name: name, Description: description, Parameters: object([]string{"recording_id"}, byIDSchema)}
	return lookup(l, described, label, icon, func(at looked, asked byID) (agent.Result, error) {
		row, err := l.find(at, asked.ID)
		if err != nil {
			return agent.Result{}, err
		}
		text := strings.TrimSpace(given(of(row)))
		if text == "" {
			return agent.Result{Text: l.headed(row) + "\nIt has none.", Empty: true}, nil
		}
		return agent.Result{Text: l.headed(row) + "\n" + text}, nil
	})
}
