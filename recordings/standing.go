package recordings

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/settings"
)

// standing are the system settings in force.
func (s *Recordings) standing() settings.Values {
	if s.Standing == nil {
		return settings.Values{MaxFileSizeMB: math.MaxInt32, TranscriptLengthLimit: settings.Unlimited, EnableFolders: true}
	}
	return s.Standing()
}

// maxFileBytes bounds a file that is sent: no setting lifts what the configuration says.
func (s *Recordings) maxFileBytes() int64 {
	return min(s.MaxUploadBytes, int64(s.standing().MaxFileSizeMB)<<20)
}

// byDefault fills the hints of a row that nobody has given, neither an upload nor a tag, a folder or the organization. A
// model that may not be named any more, since it was given, is none.
func (s *Recordings) byDefault(row models.Recording) models.Recording {
	standing := s.standing()
	if !nameable(standing, given(row.Model)) {
		row.Model = nil
	}
	for _, hint := range []struct {
		to   **string
		text string
	}{
		{&row.Hotwords, standing.DefaultHotwords}, {&row.InitialPrompt, standing.DefaultInitialPrompt}, {&row.Model, standing.DefaultModel},
	} {
		if *hint.to == nil {
			*hint.to = optional(hint.text)
		}
	}
	return row
}

// mayName refuses a model that is not among those that may be named.
func (s *Recordings) mayName(hints Hints) error {
	standing := s.standing()
	if nameable(standing, given(hints.Model)) {
		return nil
	}
	return problems.New(problems.InvalidParameter, "transcription_model must be one of %s.", strings.Join(standing.ModelsVisible, ", ")).
		With("field", "transcription_model")
}

// takeable refuses an upload before its file is read: for its model, or for where it is to be put.
func (s *Recordings) takeable(ctx context.Context, p auth.Principal, said about) error {
	if err := s.mayName(said.hints); err != nil {
		return err
	}
	return s.placeable(ctx, p, said.wanted)
}

func nameable(standing settings.Values, model string) bool {
	return model == "" || len(standing.ModelsVisible) == 0 || model == standing.DefaultModel || slices.Contains(standing.ModelsVisible, model)
}

// SpeechModelsVisible lists what a transcription may name, as the administrator curated it; none where the speech service
// decides.
func (s *Recordings) SpeechModelsVisible() []string { return s.standing().ModelsVisible }

// DefaultSpeechModel is what the administrator wants a transcription to be made by that names no model; "" for none.
func (s *Recordings) DefaultSpeechModel() string { return s.standing().DefaultModel }

// FoldersOn refuses what is done with folders while they are switched off.
func (s *Recordings) FoldersOn() error {
	if s.standing().EnableFolders {
		return nil
	}
	return problems.New(problems.FeatureDisabled, "Folders are switched off on this server.")
}
