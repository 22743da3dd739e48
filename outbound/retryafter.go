package outbound

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// MaxRetryAfter bounds the wait that a provider may ask for.
const MaxRetryAfter = time.Hour

// RetryAfter is the wait that a provider's answer asks for, in seconds or by a date; 0 where it asks for none.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	var wait time.Duration
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		// Of what is out of range ParseInt gives the bound: asked for is the longest wait then, and not none.
		wait = time.Duration(min(max(seconds, 0), int64(MaxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), MaxRetryAfter)
}
