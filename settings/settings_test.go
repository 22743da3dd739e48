package settings_test

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/settings"
)

func options() settings.Options {
	return settings.Options{MaxUploadMB: 500, MaxTranscriptChars: 480_000}
}

func store(db *models.DB) *settings.Settings { return settings.New(db, options()) }

func set(t testing.TB, s *settings.Settings, name string, value any) {
	t.Helper()
	if err := s.Set(context.Background(), 7, []settings.Change{{Name: name, Value: value}}); err != nil {
		t.Fatal(err)
	}
}

// Rule: a setting holds what it was given, is shown with its default and its bounds, and returns to its default.
func TestASettingIsKeptAndGivenBack(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		s := store(db)
		before := s.Values()
		if before.MaxFileSizeMB != 500 || before.TranscriptLengthLimit != settings.Unlimited || !before.EnableFolders {
			t.Errorf("by default it is %+v", before)
		}
		for name, value := range map[string]any{
			"max_file_size_mb": 20, "transcript_length_limit": 3000, "enable_folders": false, "disable_auto_summarization": true,
			"admin_default_summary_prompt": "Short.", "admin_default_hotwords": "Zürich", "admin_default_initial_prompt": "A meeting.",
			"admin_default_transcription_model": "m1", "transcription_models_visible": []string{"m1", "m2"},
		} {
			set(t, s, name, value)
		}
		if len(s.All()) != 9 {
			t.Errorf("%d settings are shown; the test sets 9", len(s.All()))
		}
		for _, shown := range s.All() {
			if !shown.Set || shown.UpdatedBy == nil || *shown.UpdatedBy != 7 || reflect.DeepEqual(shown.Value, shown.Default) {
				t.Errorf("%s is shown as %+v", shown.Name, shown)
			}
			set(t, s, shown.Name, nil)
		}
		if after := s.Values(); !reflect.DeepEqual(after, before) {
			t.Errorf("back at its defaults it is %+v, was %+v", after, before)
		}
	})
}

// Rule (H-006): what is out of bounds, or of another type, is refused by name, and nothing of the change is kept.
func TestASettingHasBounds(t *testing.T) {
	t.Parallel()
	s := store(modelstest.SQLite(t))
	long := strings.Repeat("x", 10_001)
	for _, wrong := range []settings.Change{
		{Name: "max_file_size_mb", Value: 0},
		{Name: "max_file_size_mb", Value: 501},
		{Name: "max_file_size_mb", Value: "20"},
		{Name: "transcript_length_limit", Value: -2},
		{Name: "transcript_length_limit", Value: 0},
		{Name: "transcript_length_limit", Value: 480_001},
		{Name: "enable_folders", Value: 1},
		{Name: "admin_default_summary_prompt", Value: long},
		{Name: "admin_default_hotwords", Value: "a\x00b"},
		{Name: "transcription_models_visible", Value: []string{" "}},
		{Name: "transcription_models_visible", Value: strings.Split(strings.Repeat("m,", 100)+"m", ",")},
		{Name: "admin_default_transcription_model", Value: strings.Repeat("m", 121)},
	} {
		err := s.Set(context.Background(), 7, []settings.Change{{Name: "disable_auto_summarization", Value: true}, wrong})
		if !problems.Is(err, problems.InvalidParameter) || problems.Of(err).Fields["field"] != wrong.Name {
			t.Errorf("%s of %.20v: %v", wrong.Name, wrong.Value, err)
		}
	}
	if s.Values().DisableAutoSummarization {
		t.Error("a change that was refused was kept by half")
	}
}

// Rule: a change holds within a second in every other process that has started.
func TestASettingIsHeardOfEverywhereWithinASecond(t *testing.T) {
	t.Parallel()
	for name, databaseURL := range modelstest.Migrated.URLs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := databaseURL(t)
			here := store(modelstest.Open(t, url, false))
			there := store(modelstest.Open(t, url, false))
			if err := there.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(there.Stop)
			for _, want := range []int{11, 12, 13} {
				set(t, here, "max_file_size_mb", want)
				changed := time.Now()
				for there.Values().MaxFileSizeMB != want {
					if time.Since(changed) > time.Second {
						t.Fatalf("%d: not heard of after %v", want, time.Since(changed))
					}
					<-time.After(5 * time.Millisecond)
				}
			}
		})
	}
}

// Rule: a row that this version does not know or would not take leaves its default, and takes nothing else with it.
func TestSettingsThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	db := modelstest.SQLite(t)
	s := store(db)
	set(t, s, "max_file_size_mb", 400)
	set(t, s, "admin_default_hotwords", "kept")
	err := db.Transaction(context.Background(), func(tx *gorm.DB) error {
		return tx.Create(&models.SystemSetting{Name: "telepathy", Value: "true", UpdatedAt: time.Now()}).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	lowered := options()
	lowered.MaxUploadMB = 300
	later := settings.New(db, lowered)
	if err := later.Read(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := later.Values(); got.MaxFileSizeMB != 300 || got.DefaultHotwords != "kept" {
		t.Errorf("it is %+v", got)
	}
}

// Rule: of two who set at the same time both are kept, one after the other, and neither waits for the other for ever.
func TestSettingAtTheSameTime(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		var setting sync.WaitGroup
		for i := range 12 {
			setting.Go(func() {
				changes := []settings.Change{{Name: "max_file_size_mb", Value: i + 1}, {Name: "transcript_length_limit", Value: i + 1}}
				if i%2 == 0 {
					changes[0], changes[1] = changes[1], changes[0]
				}
				if err := store(db).Set(context.Background(), 7, changes); err != nil {
					t.Error(err)
				}
			})
		}
		setting.Wait()
		s := store(db)
		if err := s.Read(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := s.Values(); got.MaxFileSizeMB != got.TranscriptLengthLimit {
			t.Errorf("two changes are mixed: %+v", got)
		}
	})
}
