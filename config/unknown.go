package config

import (
	"maps"
	"slices"
	"strings"
)

// laterPrefixes begin the names of settings that later versions have, and of Speakr's settings that a carried-over
// `.env` brings along: none of them does anything here, and their owner should know.
var laterPrefixes = []string{
	"AZURE_", "EMBEDDING_", "GPT5_", "INQUIRE_", "LLM_", "USE_ASR_", "WEBHOOK_", "WHISPER_",
}

// foreign are names of other programs that begin like ours.
var foreign = []string{"HTTP_PROXY", "SESSION_MANAGER"}

// warnUnknown names the variables that look like settings and are none.
func (l *loader) warnUnknown() {
	known := make(map[string]bool)
	prefixes := slices.Clone(laterPrefixes)
	for _, setting := range l.table {
		known[setting.Name] = true
		known[setting.Alias] = true
		first, _, _ := strings.Cut(setting.Name, "_")
		prefixes = append(prefixes, first+"_")
	}
	names := slices.Sorted(maps.Keys(known))
	for _, variable := range slices.Sorted(maps.Keys(l.values)) {
		if known[variable] || slices.Contains(foreign, variable) {
			continue
		}
		upper := strings.ToUpper(variable)
		if near := nearest(upper, names); near != "" {
			l.warn(variable, "is not a setting of this version and does nothing; is "+near+" meant?")
			continue
		}
		if slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(upper, prefix) }) {
			l.warn(variable, "is not a setting of this version and does nothing")
		}
	}
}

// nearest is the name that two slips of the pen or fewer make of the variable, "" for none.
func nearest(variable string, names []string) string {
	const slips, shortest = 2, 8
	if len(variable) < shortest {
		return ""
	}
	best, least := "", slips+1
	for _, name := range names {
		if len(name) < shortest || len(name)-len(variable) > slips || len(variable)-len(name) > slips {
			continue
		}
		if d := distance(variable, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance counts the insertions, deletions and replacements that turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
