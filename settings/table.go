package settings

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stenometer/stenometer/problems"
)

// Values are the settings in force. Texts are empty where nothing is said, and lists where nothing is listed.
type Values struct {
	MaxFileSizeMB int
	// TranscriptLengthLimit is how many characters of a transcript a model is given; -1 leaves that to the configuration.
	TranscriptLengthLimit    int
	EnableFolders            bool
	DisableAutoSummarization bool
	DefaultSummaryPrompt     string
	DefaultHotwords          string
	DefaultInitialPrompt     string
	DefaultModel             string
	ModelsVisible            []string
}

// Setting is one row of the table.
type Setting struct {
	Name, Meaning string
	// Default holds while nobody has set it.
	Default any
	Bounds  Bounds

	in func(*Values) any
}

// Bounds are what a value is held to; nil where they say nothing of it.
type Bounds struct {
	Minimum, Maximum *int
	// MaxLength is in characters, of a text or of each in a list.
	MaxLength, MaxItems *int
}

// Unlimited is the TranscriptLengthLimit that cuts nothing.
const Unlimited = -1

// The bounds of texts are those that the same texts have in a request, a tag or a folder.
const (
	maxPrompt = 10_000
	maxModel  = 120
	maxModels = 100
)

// Table lists every setting, in the order in which they are shown. Documents and answers are made of it.
func Table(options Options) []Setting { return table(options) }

func table(o Options) []Setting {
	text := func(most int) Bounds { return Bounds{MaxLength: &most} }
	return []Setting{
		{
			"max_file_size_mb", "Largest file of an upload, in MiB. MAX_UPLOAD_MB bounds it.", o.MaxUploadMB,
			Bounds{Minimum: new(1), Maximum: &o.MaxUploadMB},
			func(v *Values) any { return &v.MaxFileSizeMB },
		},
		{
			"transcript_length_limit", "How many characters of a transcript a text model is given; -1 as many as the configuration allows. What is left out is told.",
			Unlimited,
			Bounds{Minimum: new(Unlimited), Maximum: &o.MaxTranscriptChars},
			func(v *Values) any { return &v.TranscriptLengthLimit },
		},
		{
			"enable_folders", "Whether there are folders. Switched off, the list of folders is empty and none can be made or changed; what they hold stays in them.",
			true,
			Bounds{},
			func(v *Values) any { return &v.EnableFolders },
		},
		{
			"disable_auto_summarization", "Whether no recording is summarized by itself, whatever its account wants.",
			false,
			Bounds{},
			func(v *Values) any { return &v.DisableAutoSummarization },
		},
		{
			"admin_default_summary_prompt", "What summaries are told to be where no tag, folder, account or organization says it.",
			"", text(maxPrompt), func(v *Values) any { return &v.DefaultSummaryPrompt },
		},
		{
			"admin_default_hotwords", "The hot words of a transcription for which no upload, tag, folder or organization has any.",
			"", text(maxPrompt), func(v *Values) any { return &v.DefaultHotwords },
		},
		{
			"admin_default_initial_prompt", "The same for the initial prompt.",
			"", text(maxPrompt), func(v *Values) any { return &v.DefaultInitialPrompt },
		},
		{
			"admin_default_transcription_model", "The model of a transcription for which none is named.",
			"", text(maxModel), func(v *Values) any { return &v.DefaultModel },
		},
		{
			"transcription_models_visible", "The models that a transcription may name; others are refused. Where none is listed, the speech service decides.",
			[]string{},
			Bounds{MaxItems: new(maxModels), MaxLength: new(maxModel)},
			func(v *Values) any { return &v.ModelsVisible },
		},
	}
}

func named(table []Setting, name string) *Setting {
	for i := range table {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}

// defaults panics where a default of the table is not of its setting's type: a test asks for all of them.
func defaults(table []Setting) Values {
	var values Values
	for i := range table {
		reflect.ValueOf(table[i].in(&values)).Elem().Set(reflect.ValueOf(table[i].Default))
	}
	return values
}

// value is what stands in values.
func (s Setting) value(values *Values) any {
	switch from := s.in(values).(type) {
	case *int:
		return *from
	case *bool:
		return *from
	case *string:
		return *from
	case *[]string:
		return append([]string{}, *from...)
	}
	return nil
}

// write decodes a value into values, if it is one and within its bounds.
func (s Setting) write(values *Values, raw json.RawMessage) error {
	to := s.in(values)
	if err := json.Unmarshal(raw, to); err != nil {
		return s.refused("is of the wrong type").Because(err)
	}
	switch value := to.(type) {
	case *int:
		return s.checkNumber(*value)
	case *string:
		*value = strings.TrimSpace(*value)
		return s.checkText(*value)
	case *[]string:
		return s.checkList(value)
	}
	return nil
}

func (s Setting) checkNumber(value int) error {
	switch least, most := *s.Bounds.Minimum, *s.Bounds.Maximum; {
	case value >= least && value <= most && value != 0:
		return nil
	case least < 0:
		return s.refused("must be %d, or 1 to %d", least, most)
	default:
		return s.refused("must be %d to %d", least, most)
	}
}

func (s Setting) checkText(value string) error {
	switch {
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		return s.refused("holds what is no text")
	case utf8.RuneCountInString(value) > *s.Bounds.MaxLength:
		return s.refused("must be at most %d characters long", *s.Bounds.MaxLength).With("max_length", *s.Bounds.MaxLength)
	}
	return nil
}

// checkList takes white space around its members away, and what is listed twice.
func (s Setting) checkList(values *[]string) error {
	if len(*values) > *s.Bounds.MaxItems {
		return s.refused("must have at most %d members", *s.Bounds.MaxItems).With("max_items", *s.Bounds.MaxItems)
	}
	kept := make([]string, 0, len(*values))
	for _, member := range *values {
		member = strings.TrimSpace(member)
		if member == "" {
			return s.refused("has a blank member")
		}
		if err := s.checkText(member); err != nil {
			return err
		}
		if !slices.Contains(kept, member) {
			kept = append(kept, member)
		}
	}
	*values = kept
	return nil
}

func (s Setting) refused(format string, arguments ...any) *problems.Error {
	return problems.New(problems.InvalidParameter, s.Name+" "+format+".", arguments...).With("field", s.Name)
}
