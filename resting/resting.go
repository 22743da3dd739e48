// Package resting makes it cheap to wait. A thousand streams wait at once, each for minutes: what a waiting goroutine holds
// is held a thousand times, and its stack stays as large as the deepest call that it ever made.
package resting
