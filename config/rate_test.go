package config_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stenometer/stenometer/config"
)

// A limit is read in every notation of Flask-Limiter and of ulule/limiter.
func TestParseRates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"120 per minute":              "120 per minute",
		"10/minute":                   "10 per minute",
		"10 / Minutes":                "10 per minute",
		"1 per 10 seconds":            "1 per 10 seconds",
		"5 per 2 minutes":             "5 per 2 minutes",
		"5/2minutes":                  "5 per 2 minutes",
		"5 per 120 SECONDS":           "5 per 2 minutes",
		"1000 per hour;5000 per day":  "1000 per hour;5000 per day",
		"1000 per hour, 5000 per day": "1000 per hour;5000 per day",
		"1/second|10-M":               "1 per second;10 per minute",
		" 120-M ":                     "120 per minute",
		"3-s":                         "3 per second",
		"4-H":                         "4 per hour",
		"5-D":                         "5 per day",
		"6 per month":                 "6 per 30 days",
		"7 per year":                  "7 per 360 days",
		"8 per 366 days":              "8 per 366 days",
		"1000000000 per second":       "1000000000 per second",
		"0":                           "0",
		" 0 ":                         "0",
	} {
		rates, err := config.ParseRates(text)
		if err != nil || rates.String() != want {
			t.Errorf("%q: got %s and %v, want %s", text, rates, err, want)
		}
	}
	rates, err := config.ParseRates("1000 per hour;5000 per day")
	if err != nil || len(rates) != 2 || rates[0].Limit != 1000 || rates[0].Period != time.Hour || rates[1].Limit != 5000 || rates[1].Period != 24*time.Hour {
		t.Errorf("got %+v and %v", rates, err)
	}
}

// What cannot be read is an error and never a limit, least of all none.
func TestParseRatesRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "off", "none", "-", "00", "0-M", "0/minute", "-5 per minute", "+5 per minute", "5", "5 per", "per minute", "5 per minute per hour",
		"five per minute", "5 per fortnight", "5 per week", "5 per ſecond", "5-ſ", "5 per minuteſ", "5-W", "5-m-m", "1e3 per minute", "5.5 per minute", "1_000 per hour", "1 000 per hour",
		"５ per minute", "5 per minute extra", "5 per minute;;6 per hour", ";5 per minute", "5 per minute;0", "99999999999999999999 per minute",
		"5 per 99999999999999999999 seconds", "5 per 31622401 seconds", "5 per 13 months", "5 per 2 years", "5 per -1 minutes", "5\nper\nminute x", "5 per 1 minute;5-M",
	} {
		if rates, err := config.ParseRates(text); err == nil {
			t.Errorf("%q is read as %s", text, rates)
		}
	}
}

// Whatever is read lies within the bounds, has one rate a window, and reads back as itself.
func FuzzParseRates(f *testing.F) {
	for _, seed := range []string{"120 per minute", "1000/hour;5000 per day", "10-S", "0", "1 per 10 seconds", "5 per 2 minutes,7|8", "9223372036854775807 per 9223372036854775807 days"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rates, err := config.ParseRates(text)
		if err != nil {
			if rates != nil {
				t.Fatalf("%q: rates %v beside the error %v", text, rates, err)
			}
			return
		}
		seen := make(map[time.Duration]bool)
		for _, rate := range rates {
			if rate.Limit < 1 || rate.Limit > config.MaxRequests || rate.Period < time.Second || rate.Period > config.MaxWindow || rate.Period%time.Second != 0 || seen[rate.Period] {
				t.Fatalf("%q: %+v is out of bounds", text, rate)
			}
			seen[rate.Period] = true
		}
		if len(rates) > config.MaxRates {
			t.Fatalf("%q: %d rates", text, len(rates))
		}
		again, err := config.ParseRates(rates.String())
		if err != nil || !slices.Equal(again, rates) {
			t.Fatalf("%q: %v reads back as %v, %v", text, rates, again, err)
		}
	})
}
