package config

import (
	"log/slog"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setting is one variable as the user guide shows it.
type Setting struct {
	Name string
	// Alias is an older name of the same; "" for none.
	Alias string
	// Default is what an unset or empty variable means, in words where it depends on other settings.
	Default string
	Allowed string
	Meaning string
	// Limit is true where 0 switches a limit off.
	Limit bool

	parsedDefault string
	rule          string
	least, most   float64       // of numbers and durations, in unit
	unit          time.Duration // of durations
}

// Settings lists every variable in the order of Config's fields.
func Settings() []Setting {
	fields := reflect.TypeFor[Config]()
	var settings []Setting
	for i := range fields.NumField() {
		if field := fields.Field(i); field.IsExported() {
			settings = append(settings, settingOf(field))
		}
	}
	return settings
}

func settingOf(field reflect.StructField) Setting {
	s := Setting{
		Name:          field.Tag.Get("env"),
		Alias:         field.Tag.Get("alias"),
		Default:       field.Tag.Get("derived"),
		Meaning:       field.Tag.Get("doc"),
		Limit:         field.Tag.Get("off") == "0",
		parsedDefault: field.Tag.Get("default"),
		rule:          field.Tag.Get("rule"),
	}
	if s.Default == "" {
		s.Default = s.parsedDefault
	}
	if s.Default == "" {
		s.Default = "none"
	}
	switch reflect.New(field.Type).Interface().(type) {
	case *int:
		s.least, s.most = bounds(s.rule)
		s.Allowed = "a whole number from " + number(s.least) + " to " + number(s.most)
		if s.Limit {
			s.Allowed += "; 0 for no limit"
		}
	case *time.Duration:
		s.least, s.most = bounds(s.rule)
		var plural string
		s.unit, plural = unitOfName(s.Name)
		s.Allowed = number(s.least) + " to " + number(s.most) + " " + plural
	case *bool:
		s.Allowed = "true or false"
	case *OnStorageError:
		s.Allowed = onStorageErrorAllowed
	case *Dollars:
		s.Allowed = dollarsAllowed
	case *RoleMap:
		s.Allowed = roleMapAllowed
	case *ChunkLimit:
		s.Allowed = chunkLimitAllowed
	case *Schedule:
		s.Allowed = scheduleAllowed
	case *HostPattern:
		s.Allowed = hostPatternAllowed
	case *Rates:
		s.Allowed = ratesAllowed
		s.Limit = true
	case *slog.Level, *string, *Location, *Secret, *[]netip.Prefix, *[]string:
		s.Allowed = textRules[s.rule].allowed
		if strings.Contains(s.rule, "|") {
			s.Allowed = oneOf(s.rule)
		}
	}
	return s
}

func bounds(rule string) (least, most float64) {
	from, to, _ := strings.Cut(rule, "..")
	least, _ = strconv.ParseFloat(from, 64)
	most, _ = strconv.ParseFloat(to, 64)
	return least, most
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// unitOfName is the unit that ends a duration's variable: SHUTDOWN_TIMEOUT_SECONDS.
func unitOfName(variable string) (unit time.Duration, plural string) {
	switch variable[strings.LastIndexByte(variable, '_')+1:] {
	case "DAYS":
		return 24 * time.Hour, "days"
	case "HOURS":
		return time.Hour, "hours"
	case "MILLISECONDS":
		return time.Millisecond, "milliseconds"
	default:
		return time.Second, "seconds"
	}
}

// IsSet reports whether the operator gave the variable a value: without one its default holds.
func (c *Config) IsSet(variable string) bool { return c.set[variable] }

// IsOff reports whether the variable is that of a limit and switches it off.
func (c *Config) IsOff(variable string) bool { return slices.Contains(c.Off(), variable) }

// Off lists the variables of limits that are switched off, for the server to say so at its start and in its metrics.
func (c *Config) Off() []string {
	var off []string
	fields := reflect.ValueOf(c).Elem()
	for i, setting := range Settings() {
		if !setting.Limit {
			continue
		}
		switch value := fields.Field(i).Interface().(type) {
		case Rates:
			if value.Off() {
				off = append(off, setting.Name)
			}
		case int:
			if value == 0 {
				off = append(off, setting.Name)
			}
		}
	}
	return off
}
