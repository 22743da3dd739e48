package config

import (
	"errors"
	"strings"
	"time"
)

const (
	scheduleAllowed = "1 to 20 waits such as 0s,30s,2m,1h, each at most 168h, separated by commas"
	longestSchedule = 20
	longestWait     = 7 * 24 * time.Hour
)

// Schedule is the wait before each attempt at something.
type Schedule []time.Duration

// ParseSchedule reads one.
func ParseSchedule(text string) (Schedule, error) {
	var schedule Schedule
	for part := range strings.SplitSeq(text, ",") {
		wait, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || wait < 0 || wait > longestWait || len(schedule) == longestSchedule {
			return nil, errors.New("must be " + scheduleAllowed)
		}
		schedule = append(schedule, wait)
	}
	return schedule, nil
}
