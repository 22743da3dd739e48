package llm

import "fmt"

// longestClock is where clocks stop, in seconds.
const longestClock = 1e7

// Clock is when the passage begins, as 1:02 or 1:02:03; "" where it has no times.
func (p Passage) Clock() string {
	if p.Start == nil {
		return ""
	}
	whole := 0
	if *p.Start > 0 { // which what is not a number is not
		whole = int(min(*p.Start, longestClock))
	}
	if whole >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", whole/3600, whole/60%60, whole%60)
	}
	return fmt.Sprintf("%d:%02d", whole/60, whole%60)
}
