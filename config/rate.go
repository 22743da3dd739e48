package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ulule/limiter/v3"
)

// Rates are the figures of one limit, in the order written, each with a window of its own; without any the limit is
// switched off.
type Rates []limiter.Rate

// Bounds of what a limit may say.
const (
	MaxRequests = 1_000_000_000
	MaxWindow   = 366 * 24 * time.Hour
	MaxRates    = 8
)

// ratesAllowed is what a fault and the user guide say.
const ratesAllowed = "a limit such as `120 per minute`, `10/minute`, `5 per 2 minutes`, `1000 per hour;5000 per day` or `120-M`, or `0` for none"

var (
	// Of lower case alone: (?i) also takes letters that only fold to ours, such as the long s, for units.
	spelled = regexp.MustCompile(`^([0-9]+)\s*(?:/|per)\s*([0-9]+)?\s*(second|minute|hour|day|month|year)s?$`)
	dashed  = regexp.MustCompile(`^([0-9]+)-([smhd])$`)
)

// ParseRates reads a limit in the notations of Flask-Limiter and of ulule/limiter; several rates are separated by
// ";", "," or "|". "0" switches the limit off. Anything else is an error: a limit never falls back to another.
// A month is 30 days, a year 360, as in Flask-Limiter.
func ParseRates(text string) (Rates, error) {
	text = strings.TrimSpace(text)
	if text == "0" {
		return Rates{}, nil
	}
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";,|", r) })
	if written := strings.Count(text, ";") + strings.Count(text, ",") + strings.Count(text, "|") + 1; written != len(parts) {
		return nil, errors.New("a rate is missing beside a separator")
	}
	if len(parts) > MaxRates {
		return nil, fmt.Errorf("at most %d rates make one limit", MaxRates)
	}
	rates := make(Rates, 0, len(parts))
	windows := make(map[time.Duration]bool, len(parts))
	for _, part := range parts {
		rate, err := parseRate(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if windows[rate.Period] {
			return nil, fmt.Errorf("two rates have the same window (per %s)", window(rate.Period))
		}
		windows[rate.Period] = true
		rates = append(rates, rate)
	}
	return rates, nil
}

func parseRate(text string) (limiter.Rate, error) {
	text = strings.ToLower(text)
	var count, every, unit string
	if m := spelled.FindStringSubmatch(text); m != nil {
		count, every, unit = m[1], m[2], m[3]
	} else if m := dashed.FindStringSubmatch(text); m != nil {
		count, unit = m[1], m[2]
	} else {
		return limiter.Rate{}, errors.New("must be " + ratesAllowed)
	}
	requests, err := strconv.ParseInt(count, 10, 64)
	if err != nil || requests < 1 || requests > MaxRequests {
		return limiter.Rate{}, fmt.Errorf("a rate allows 1 to %d requests; `0` alone switches the limit off", MaxRequests)
	}
	units := int64(1)
	if every != "" {
		units, err = strconv.ParseInt(every, 10, 64)
	}
	one := unitOf(unit)
	if err != nil || units < 1 || units > int64(MaxWindow/one) {
		return limiter.Rate{}, errors.New("a window is 1 second to 366 days")
	}
	return newRate(requests, time.Duration(units)*one), nil
}

func unitOf(unit string) time.Duration {
	const day = 24 * time.Hour
	switch unit {
	case "s", "second":
		return time.Second
	case "m", "minute":
		return time.Minute
	case "h", "hour":
		return time.Hour
	case "month":
		return 30 * day
	case "year":
		return 360 * day
	default:
		return day
	}
}

func newRate(requests int64, period time.Duration) limiter.Rate {
	return limiter.Rate{
		Formatted: strconv.FormatInt(requests, 10) + " per " + window(period),
		Period:    period,
		Limit:     requests,
	}
}

// window writes a period in the largest unit that divides it: "minute", "10 seconds", "2 hours".
func window(period time.Duration) string {
	unit, name := time.Second, "second"
	for _, larger := range []struct {
		unit time.Duration
		name string
	}{{time.Minute, "minute"}, {time.Hour, "hour"}, {24 * time.Hour, "day"}} {
		if period%larger.unit == 0 {
			unit, name = larger.unit, larger.name
		}
	}
	if n := int64(period / unit); n != 1 {
		return strconv.FormatInt(n, 10) + " " + name + "s"
	}
	return name
}

// Off reports whether the limit is switched off.
func (r Rates) Off() bool { return len(r) == 0 }

// String writes the limit so that ParseRates reads it back.
func (r Rates) String() string {
	if r.Off() {
		return "0"
	}
	parts := make([]string, len(r))
	for i, rate := range r {
		parts[i] = strconv.FormatInt(rate.Limit, 10) + " per " + window(rate.Period)
	}
	return strings.Join(parts, ";")
}

// doubled is twice every rate, within the bounds.
func (r Rates) doubled() Rates {
	twice := make(Rates, len(r))
	for i, rate := range r {
		twice[i] = newRate(min(2*rate.Limit, MaxRequests), rate.Period)
	}
	return twice
}
