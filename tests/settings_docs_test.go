package tests

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/settings"
)

// The guide's table of system settings is that of the code. Bounds that the configuration gives are shown by its name.
func TestGoldenSystemSettingsOfTheGuide(t *testing.T) {
	t.Parallel()
	const upload, transcript = 7_000_001, 7_000_002
	named := strings.NewReplacer(strconv.Itoa(upload), "`MAX_UPLOAD_MB`", strconv.Itoa(transcript), "`TEXT_PART_CHARS` × `TEXT_MAX_PARTS`")
	var rows [][]string
	for _, setting := range settings.Table(settings.Options{MaxUploadMB: upload, MaxTranscriptChars: transcript}) {
		bounds := setting.Bounds
		var said []string
		if bounds.Minimum != nil {
			said = append(said, fmt.Sprintf("%d to %d", *bounds.Minimum, *bounds.Maximum))
		}
		if bounds.MaxItems != nil {
			said = append(said, fmt.Sprintf("%d names", *bounds.MaxItems))
		}
		if bounds.MaxLength != nil {
			said = append(said, fmt.Sprintf("%d characters", *bounds.MaxLength))
		}
		rows = append(rows, []string{
			"`" + setting.Name + "`", setting.Meaning, named.Replace(shownDefault(setting.Default)), named.Replace(strings.Join(said, " of ")),
		})
	}
	expectSection(t, "system-settings.md", "settings", table([]string{"name", "meaning", "default", "bounds"}, rows))
}

func shownDefault(value any) string {
	if text := fmt.Sprint(value); text != "" && text != "[]" {
		return text
	}
	return "none"
}
