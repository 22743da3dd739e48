package config_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/tests/golden"
)

// The user guide's table of settings is the one that the server parses.
func TestGoldenSettingsOfTheGuide(t *testing.T) {
	t.Parallel()
	golden.Section(t, "../docs/user-guide/configuration.md", "settings", settingsTable())
}

func settingsTable() string {
	var b strings.Builder
	b.WriteString("\n| variable | default | allowed | meaning |\n| --- | --- | --- | --- |\n")
	for _, setting := range config.Settings() {
		name := "`" + setting.Name + "`"
		if setting.Alias != "" {
			name += " (also `" + setting.Alias + "`)"
		}
		allowed := setting.Allowed
		if strings.HasPrefix(allowed, "a limit such as") {
			allowed = "[a limit](#how-a-limit-is-written)"
		}
		meaning := setting.Meaning
		for _, cell := range []*string{&allowed, &meaning} {
			*cell = strings.ReplaceAll(*cell, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, setting.Default, allowed, meaning)
	}
	return b.String() + "\n"
}

// A variable that the guide's prose names is one that the server knows.
func TestGuideNamesNoOtherSetting(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, setting := range config.Settings() {
		known[setting.Name], known[setting.Alias] = true, true
	}
	for _, others := range []string{
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "OLLAMA_CONTEXT_LENGTH", "SSL_CERT_FILE", // of other programs
		"STENOMETER_URL", "STENOMETER_TOKEN", "ADMIN_TOKEN", "SPEAKER_00", "SPEAKER_01", // of the examples
	} {
		known[others] = true
	}
	for _, page := range []string{"configuration", "getting-started", "models", "budgets", "summaries", "sign-in"} {
		content, err := os.ReadFile("../docs/user-guide/" + page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		own, _, _ := strings.Cut(string(content), "## Coming from Speakr") // what stands below names what is none
		words := strings.FieldsFunc(own, func(r rune) bool {
			return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
		})
		for _, word := range words {
			if strings.Count(word, "_") > 0 && !known[word] && strings.Trim(word, "_") == word {
				t.Errorf("%s.md names %s, which is no setting", page, word)
			}
		}
	}
}
