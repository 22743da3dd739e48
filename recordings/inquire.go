package recordings

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/agent"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/providers"
)

// InquiryOptions is how questions about many recordings are answered. The zero value answers none.
type InquiryOptions struct {
	Enabled bool
	// Agent lets the model look things up by itself; nil where it may not.
	Agent *agent.Agent
	// Summaries and Notes say whether it may look these up.
	Summaries, Notes bool
}

// The ways to answer.
const (
	// ByRetrieval finds excerpts by the words of the question and asks once.
	ByRetrieval = "rag"
	// ByAgent lets the model look up what it wants.
	ByAgent = "agent"
)

// nothingToSearch is the answer where there are no words to look into.
const nothingToSearch = "There is nothing to search: no recording with a transcript matches the scope and the filters."

// Inquiry is a question about many recordings.
type Inquiry struct {
	Question string
	// Mode is ByRetrieval, ByAgent, or "auto", as is an empty one.
	Mode string
	// Scope is own, shared or all; an empty one is own.
	Scope   string
	Filters Filters
	History []Turn
}

// Filters are the recordings that a question is about.
type Filters struct {
	// RecordingIDs are the only ones; nil means all. Of TagIDs and Speakers one must be there; none means any.
	RecordingIDs, TagIDs []int64
	Speakers             []string
	// From and Until are dates or date-times, both included.
	From, Until string
}

// Findings answer an Inquiry. Answer is nil for a caller that may not read: no model is asked for it then.
type Findings struct {
	Answer    *string
	Citations []Citation
	// Mode is the way in which it was answered, Steps how many look-ups were made.
	Mode  string
	Steps int
}

// inquiry is one that may be asked.
type inquiry struct {
	asks    Inquiry
	by      string
	query   Query
	history []llm.Message
	// language and today are for the prompt, zone for the dates in it.
	language, today string
	zone            *time.Location
	// unread is true of a caller that may not read, and empty where there is nothing to search: no model is asked.
	unread, empty bool
	// shown is what a model was shown of.
	shown shown
}

// MayInquire refuses all questions about many recordings where the operator wants none.
func (s *Recordings) MayInquire() error {
	if !s.Inquiry.Enabled {
		return problems.New(problems.FeatureDisabled, "Questions about many recordings are switched off on this server.")
	}
	return nil
}

// LooksUp reports whether models look things up by themselves: one that only quotes does not.
func (s *Recordings) LooksUp() bool {
	return s.Inquiry.Enabled && s.Inquiry.Agent != nil && s.Text != nil && !s.Text.Describe().Embedded
}

// Inquire answers a question about recordings that the caller may see, while the caller waits.
func (s *Recordings) Inquire(ctx context.Context, p auth.Principal, purse budgets.Purse, q Inquiry) (Findings, error) {
	asked, err := s.inquiry(ctx, p, q)
	if err != nil {
		return Findings{}, err
	}
	findings := Findings{Mode: ByRetrieval, Citations: []Citation{}}
	switch {
	case asked.unread:
		return findings, nil
	case asked.empty:
		findings.Answer = new(nothingToSearch)
		return findings, nil
	}
	if asked.by == ByAgent {
		said := false
		outcome, err := s.lookUp(ctx, p, purse, asked, silent(&said), true)
		if err == nil {
			findings.Mode, findings.Steps = ByAgent, outcome.Looked
			findings.Answer, findings.Citations = asked.cited(outcome.Answer)
			return findings, nil
		}
		if said || !failed(err) || ctx.Err() != nil { // there is no time to ask in another way
			return Findings{}, inquiryProblem(err)
		}
	}
	found, err := s.retrieve(ctx, p, asked)
	if err != nil {
		return Findings{}, err
	}
	if len(found) == 0 {
		findings.Answer = new(nothingToSearch)
		return findings, nil
	}
	answers, err := s.run(ctx, purse, s.inquiryErrand(asked, found))
	if err != nil {
		return Findings{}, inquiryProblem(err)
	}
	findings.Answer, findings.Citations = asked.cited(answers[0])
	return findings, nil
}

func (q inquiry) cited(answer llm.Answer) (*string, []Citation) {
	text, cited := q.shown.cite(withRemarks(answer, ""))
	return &text, cited
}

// failed reports whether it was the text model's service that failed, which another way of asking may get round: neither
// the caller nor the money, nor that no call may be made at all.
func failed(err error) bool {
	var failure *providers.Error
	return errors.As(err, &failure)
}

// inquiryProblem is what a caller is told who waited for a model.
func inquiryProblem(err error) error {
	told := modelProblem("answer the question", err)
	if problem := problems.Of(told); problem.Kind == problems.ProviderFailed {
		return problems.New(problems.InquireFailed, "%s", problem.Message).Because(told)
	}
	return told
}

// inquiry refuses what may not be asked, in the contract's order.
func (s *Recordings) inquiry(ctx context.Context, p auth.Principal, q Inquiry) (inquiry, error) {
	if err := s.MayInquire(); err != nil {
		return inquiry{}, err
	}
	asked := inquiry{asks: q, shown: shown{}}
	var err error
	if asked.history, err = q.check(s.TextBounds.InputChars); err != nil {
		return inquiry{}, err
	}
	if asked.by, err = s.way(q.Mode); err != nil {
		return inquiry{}, err
	}
	if asked.query, err = q.query(); err != nil {
		return inquiry{}, err
	}
	if err := s.can(budgets.Inquiring); err != nil {
		return inquiry{}, err
	}
	if asked.unread = !p.MayRead(); asked.unread {
		return asked, nil
	}
	if err := s.surround(s.db.Read.WithContext(ctx), p, &asked); err != nil {
		return inquiry{}, unavailable("read what the question is about", err)
	}
	return asked, nil
}

// surround looks whether there is anything to search, and what a prompt says besides.
func (s *Recordings) surround(db *gorm.DB, p auth.Principal, asked *inquiry) error {
	var ids []int64
	if err := s.among(db, p, asked.query).Limit(1).Pluck("id", &ids).Error; err != nil {
		return err
	}
	if asked.empty = len(ids) == 0; asked.empty {
		return nil
	}
	user, err := accountOf(db, p.UserID())
	if err != nil {
		return err
	}
	if asked.zone, err = zoneOf(db, p.OrganizationID()); err != nil {
		return err
	}
	asked.language, asked.today = given(user.OutputLanguage), s.Now().In(asked.zone).Format("Monday, 2006-01-02")
	return nil
}

// among are the recordings that a query is about.
func (s *Recordings) among(db *gorm.DB, p auth.Principal, q Query) *gorm.DB {
	return s.speaking(q.narrow(s.inScope(db.Model(&models.Recording{}), p, q.Scope), p), q.Speakers)
}

// way is how the question is to be answered.
func (s *Recordings) way(mode string) (string, error) {
	switch mode {
	case "", "auto":
		if s.LooksUp() {
			return ByAgent, nil
		}
		return ByRetrieval, nil
	case ByRetrieval:
		return ByRetrieval, nil
	case ByAgent:
	default:
		return "", problems.New(problems.InvalidParameter, "mode must be rag, agent or auto.").With("field", "mode")
	}
	switch {
	case s.Inquiry.Agent == nil:
		return "", problems.New(problems.FeatureDisabled, "On this server models do not look things up by themselves; use mode rag or auto.")
	case !s.LooksUp():
		return "", errNoModel()
	}
	return ByAgent, nil
}

// check holds a question to its bounds and gives what was said before it.
func (q Inquiry) check(most int) ([]llm.Message, error) {
	if strings.TrimSpace(q.Question) == "" {
		return nil, problems.New(problems.InvalidParameter, "question must be given and not be blank.").With("field", "question")
	}
	history, said, err := checkTurns("history", q.History)
	if err != nil {
		return nil, err
	}
	return history, checkInput(said+utf8.RuneCountInString(q.Question), most)
}

// The bounds of filters; that of ids is MaxSearchIDs.
const (
	maxFilterTags     = 100
	maxFilterSpeakers = 100
	maxSpeakerChars   = 200
)

// query is what the question is about.
func (q Inquiry) query() (Query, error) {
	switch q.Scope {
	case "", "own", "all", "shared":
	default:
		return Query{}, problems.New(problems.InvalidParameter, "scope must be own, shared or all.").With("field", "scope")
	}
	f, query := q.Filters, Query{Scope: Scope(q.Scope), RecordingIDs: q.Filters.RecordingIDs, TagIDs: q.Filters.TagIDs}
	for _, list := range []struct {
		name      string
		has, most int
	}{
		{"recording_ids", len(f.RecordingIDs), MaxSearchIDs}, {"tag_ids", len(f.TagIDs), maxFilterTags}, {"speakers", len(f.Speakers), maxFilterSpeakers},
	} {
		if list.has > list.most {
			return Query{}, problems.New(problems.InvalidParameter, "filters.%s must be at most %d long.", list.name, list.most).With("field", "filters."+list.name)
		}
	}
	if query.Speakers = speakerNames(f.Speakers); query.Speakers == nil {
		return Query{}, problems.New(problems.InvalidParameter, "filters.speakers must be names of at most %d characters.", maxSpeakerChars).With("field", "filters.speakers")
	}
	var fault string
	if query.From, query.Until, fault = period(f.From, f.Until); fault != "" {
		return Query{}, problems.New(problems.InvalidParameter, "filters.%s must be a date or date-time of ISO 8601.", fault).With("field", "filters."+fault)
	}
	return query, nil
}

// speakerNames folds the names of speakers, of which blank ones are none; nil when one is no name.
func speakerNames(said []string) []string {
	folded := []string{}
	for _, name := range said {
		if utf8.RuneCountInString(name) > maxSpeakerChars || strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
			return nil
		}
		if name = strings.TrimSpace(fold(name)); name != "" && !slices.Contains(folded, name) {
			folded = append(folded, name)
		}
	}
	return folded
}

// period reads a first and a last moment; a bare date as the last is its whole day. fault names the one that is no date.
func period(from, until string) (first, last *time.Time, fault string) {
	if from != "" {
		at, _, ok := ParseTime(from)
		if !ok {
			return nil, nil, "date_from"
		}
		first = &at
	}
	if until != "" {
		at, dateOnly, ok := ParseTime(until)
		if !ok {
			return nil, nil, "date_to"
		}
		if dateOnly {
			at = at.AddDate(0, 0, 1).Add(-time.Microsecond)
		}
		last = &at
	}
	return first, last, ""
}

// silent is who follows a look-up of which only the end is told.
func silent(said *bool) agent.Observer {
	return agent.Observer{
		Listener: llm.Listener{Begun: func() {}, Heard: func() {}, Said: func(string) error { *said = true; return nil }},
		Thinking: func(string) error { return nil },
		Step:     func(agent.Step) error { return nil },
		Usage:    func(int) error { return nil },
		Folded:   func(string, int) error { return nil },
	}
}
