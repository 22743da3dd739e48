package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Load reads the settings from environ ("NAME=value" each) and from the `.env` file at the path dotenv ("" for none; a
// file that is not there counts as empty). The environment wins: a variable that is set in it, even to nothing, is
// not looked for in the file. An empty variable means its default. The error is Faults: every fault there is.
func Load(environ []string, dotenv string) (*Config, []Warning, error) {
	l := &loader{values: make(map[string]string), bad: make(map[string]bool), table: Settings()}
	l.readDotenv(dotenv)
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			l.values[name] = clean(value)
		}
	}
	l.joinAliases()
	l.warnUnknown()

	c := &Config{set: make(map[string]bool)}
	fields := reflect.ValueOf(c).Elem()
	for i, setting := range l.table {
		l.parse(fields.Field(i), setting)
		c.set[setting.Name] = l.isSet(setting.Name)
	}
	l.derive(c)
	l.check(c)
	if len(l.faults) > 0 {
		return nil, l.warnings, l.faults
	}
	return c, l.warnings, nil
}

// loader is one run of Load.
type loader struct {
	table    []Setting
	values   map[string]string // by variable; cleaned
	bad      map[string]bool   // variables with a fault, which later rules leave alone
	faults   Faults
	warnings []Warning
}

func (l *loader) fault(variable, value, allowed string) {
	l.bad[variable] = true
	l.faults = append(l.faults, Fault{Variable: variable, Value: value, Allowed: allowed})
}

func (l *loader) warn(variable, text string) {
	l.warnings = append(l.warnings, Warning{Variable: variable, Text: text})
}

// isSet reports whether the operator gave the variable a value.
func (l *loader) isSet(variable string) bool { return l.values[variable] != "" }

// good reports whether none of the variables has a fault, so that a rule between them says something new.
func (l *loader) good(variables ...string) bool {
	for _, variable := range variables {
		if l.bad[variable] {
			return false
		}
	}
	return true
}

// joinAliases moves the value of an older name to the name of now.
func (l *loader) joinAliases() {
	for _, setting := range l.table {
		older := l.values[setting.Alias]
		if setting.Alias == "" || older == "" {
			continue
		}
		if now := l.values[setting.Name]; now != "" && now != older {
			l.fault(setting.Alias, shown(older), fmt.Sprintf("is the older name of %s, which says %s; set one of them", setting.Name, shown(now)))
			continue
		}
		l.values[setting.Name] = older
	}
}
