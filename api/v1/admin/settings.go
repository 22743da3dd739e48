package admin

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/settings"
)

// declareSettings adds what is asked of the settings of the whole instance.
func (a *API) declareSettings(t *routes.Table) {
	t.Token("GET", "/api/v1/admin/settings", auth.Settings, a.showSettings, showSettingsOperation(),
		routes.InstanceWide("settings.show"))
	t.Token("PATCH", "/api/v1/admin/settings", auth.Settings, a.setSettings, setSettingsOperation(),
		routes.InstanceWide("settings.set"))
}

// settingForm is a setting as it stands. Of the bounds those are null that say nothing of such a value.
type settingForm struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
	// Value and Default are of the setting's own type: a number, a truth, a text or a list of texts.
	Value     json.RawMessage `json:"value" description:"A number, a truth, a text or a list of texts, as the setting is."`
	Default   json.RawMessage `json:"default" description:"The same."`
	IsDefault bool            `json:"is_default"`
	Minimum   *int            `json:"minimum"`
	Maximum   *int            `json:"maximum"`
	MaxLength *int            `json:"max_length"`
	MaxItems  *int            `json:"max_items"`
	UpdatedAt *string         `json:"updated_at"`
	UpdatedBy *int64          `json:"updated_by"`
}

type settingsForm struct {
	Settings []settingForm `json:"settings"`
}

// settingsUpdate is what becomes of settings; null returns one to its default. The bounds that only this server's
// configuration knows are shown by GET.
type settingsUpdate struct {
	MaxFileSizeMB            routes.Optional[int]      `json:"max_file_size_mb" minimum:"1"`
	TranscriptLengthLimit    routes.Optional[int]      `json:"transcript_length_limit" minimum:"-1"`
	EnableFolders            routes.Optional[bool]     `json:"enable_folders"`
	DisableAutoSummarization routes.Optional[bool]     `json:"disable_auto_summarization"`
	DefaultSummaryPrompt     routes.Optional[string]   `json:"admin_default_summary_prompt" maxLength:"10000"`
	DefaultHotwords          routes.Optional[string]   `json:"admin_default_hotwords" maxLength:"10000"`
	DefaultInitialPrompt     routes.Optional[string]   `json:"admin_default_initial_prompt" maxLength:"10000"`
	DefaultModel             routes.Optional[string]   `json:"admin_default_transcription_model" maxLength:"120"`
	ModelsVisible            routes.Optional[[]string] `json:"transcription_models_visible" maxItems:"100" eachMinLength:"1" eachMaxLength:"120"`
}

func showSettingsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show the settings of the instance", Group: routes.GroupAdministration,
		Notes:   "All of them, each with its default and its bounds.",
		Answers: routes.Answers{http.StatusOK: exampleSettings()},
	}
}

func exampleSettings() settingsForm {
	return settingsForm{[]settingForm{{
		Name: "max_file_size_mb", Meaning: "The largest file that is taken, in MiB.", Value: json.RawMessage("250"), Default: json.RawMessage("500"),
		Minimum: new(1), Maximum: new(500), UpdatedAt: new("2026-03-04T10:00:00.000000Z"), UpdatedBy: new(int64(1)),
	}}}
}

func (a *API) showSettings(c echo.Context, _ auth.Principal) error {
	// What another process has just been told is shown, too.
	if err := a.Settings.Read(c.Request().Context()); err != nil {
		return err
	}
	return a.answerSettings(c)
}

// answerSettings shows all of them as they stand.
func (a *API) answerSettings(c echo.Context) error {
	var form settingsForm
	for _, shown := range a.Settings.All() {
		setting, err := settingFormOf(shown)
		if err != nil {
			return err
		}
		form.Settings = append(form.Settings, setting)
	}
	return c.JSON(http.StatusOK, form)
}

func settingFormOf(s settings.Shown) (settingForm, error) {
	value, err := json.Marshal(s.Value)
	if err != nil {
		return settingForm{}, fmt.Errorf("write the value of %s: %w", s.Name, err)
	}
	standard, err := json.Marshal(s.Default)
	if err != nil {
		return settingForm{}, fmt.Errorf("write the default of %s: %w", s.Name, err)
	}
	form := settingForm{
		Name: s.Name, Meaning: s.Meaning, Value: value, Default: standard, IsDefault: !s.Set, UpdatedBy: s.UpdatedBy,
		Minimum: s.Bounds.Minimum, Maximum: s.Bounds.Maximum, MaxLength: s.Bounds.MaxLength, MaxItems: s.Bounds.MaxItems,
	}
	if s.Set {
		form.UpdatedAt = new(routes.Micro(s.UpdatedAt))
	}
	return form, nil
}

func setSettingsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Set settings of the instance", Group: routes.GroupAdministration,
		Request: settingsUpdate{MaxFileSizeMB: routes.Given(250), EnableFolders: routes.Given(true)},
		Notes: "What is named holds at once, and within a second on every server that shares the database; what is not named stays. null returns " +
			"a setting to its default. All of it is kept, or none. The answer is that of GET.",
		Answers: routes.Answers{http.StatusOK: exampleSettings()}, Refusals: []problems.Kind{problems.InvalidParameter},
	}
}

func (a *API) setSettings(c echo.Context, p auth.Principal) error {
	var body settingsUpdate
	if err := routes.DecodeStrictJSON(c, &body); err != nil {
		return err
	}
	changes := body.changes()
	if len(changes) == 0 {
		return problems.New(problems.InvalidParameter, "Name at least one setting.")
	}
	if err := a.Settings.Set(c.Request().Context(), p.UserID(), changes); err != nil {
		return err
	}
	return a.answerSettings(c)
}

// changes are the settings that a body names.
func (u settingsUpdate) changes() []settings.Change {
	var changes []settings.Change
	changes = changing(changes, "max_file_size_mb", u.MaxFileSizeMB)
	changes = changing(changes, "transcript_length_limit", u.TranscriptLengthLimit)
	changes = changing(changes, "enable_folders", u.EnableFolders)
	changes = changing(changes, "disable_auto_summarization", u.DisableAutoSummarization)
	changes = changing(changes, "admin_default_summary_prompt", u.DefaultSummaryPrompt)
	changes = changing(changes, "admin_default_hotwords", u.DefaultHotwords)
	changes = changing(changes, "admin_default_initial_prompt", u.DefaultInitialPrompt)
	changes = changing(changes, "admin_default_transcription_model", u.DefaultModel)
	return changing(changes, "transcription_models_visible", u.ModelsVisible)
}

func changing[T any](changes []settings.Change, name string, sent routes.Optional[T]) []settings.Change {
	switch {
	case !sent.Set:
		return changes
	case sent.Null:
		return append(changes, settings.Change{Name: name})
	}
	return append(changes, settings.Change{Name: name, Value: sent.Value})
}
