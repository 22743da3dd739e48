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
	content, err := os.ReadFile("../docs/user-guide/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"HTTP_PROXY": true, "HTTPS_PROXY": true, "NO_PROXY": true}
	for _, setting := range config.Settings() {
		known[setting.Name], known[setting.Alias] = true, true
	}
	words := strings.FieldsFunc(string(content), func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
	})
	for _, word := range words {
		if strings.Count(word, "_") > 0 && !known[word] && strings.Trim(word, "_") == word {
			t.Errorf("the guide names %s, which is no setting", word)
		}
	}
}
