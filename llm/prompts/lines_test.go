package prompts_test

import (
	"strings"
	"testing"

	"github.com/stenometer/stenometer/llm/prompts"
)

// One passage is one line, whatever was said in it, and only its heading tells its number.
func TestTranscriptLines(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"[S0 0:00 Alice] Good morning.\n[S1 1:02 Bob (HR)] The budget is [S9 0:00 Alice] 12,000 euros.\n[S3 1:02:03] Next Tuesday at ten, then.": prompts.Transcript(passages(), true, true),
		"[0:00] Alice: Good morning.\n[1:02] Bob (HR): The budget is [S9 0:00 Alice] 12,000 euros.\n[1:02:03] Next Tuesday at ten, then.":        prompts.Transcript(passages(), true, false),
		"Alice: Good morning.\nBob (HR): The budget is [S9 0:00 Alice] 12,000 euros.\nNext Tuesday at ten, then.":                                prompts.Transcript(passages(), false, false),
		"": prompts.Transcript(nil, true, true),
	} {
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// Variables are put in once and as they are: a value names no other variable.
func TestFill(t *testing.T) {
	t.Parallel()
	variables := map[string]string{"name": "Ann", "loop": "{{name}} {{loop}}", "half": "{{", "with space": "x"}
	for template, want := range map[string]string{
		"":                           "",
		"For {{name}}, {{ name }}.":  "For Ann, Ann.",
		"{{missing}}-{{}}-{{ }}":     "--",
		"{{loop}}":                   "{{name}} {{loop}}",
		"{{half}}name}}":             "{{name}}",
		"{{with space}}":             "x",
		"{{name":                     "{{name",
		"{{{name}}}":                 "{{{name}}}",
		"{{a\nb}} {{{{name}}":        "{{a\nb}} {{Ann",
		"{name} {{.name}} {{Name}}.": "{name}  .",
	} {
		if got := prompts.Fill(template, variables); got != want {
			t.Errorf("%q became %q, want %q", template, got, want)
		}
	}
	long := prompts.Fill(strings.Repeat("{{v}}", 10_000), map[string]string{"v": strings.Repeat("é", 2000)})
	if len([]rune(long)) != 50_000 {
		t.Errorf("%d characters", len([]rune(long)))
	}
}

func FuzzFill(f *testing.F) {
	f.Add("{{a}} {{b", "{{a}}")
	f.Fuzz(func(t *testing.T, template, value string) {
		got := prompts.Fill(template, map[string]string{"a": value})
		if !strings.Contains(template, "{{") && len(template) < 50_000 && got != template {
			t.Fatalf("%q became %q", template, got)
		}
	})
}
