package resting

import (
	"fmt"
	"runtime/debug"
)

// Apart does something in a goroutine of its own and waits for it: the stack that it needs is given back when it has
// ended, where the caller's own would keep it for as long as the caller waits for something else then. A panic is the
// caller's.
func Apart(do func()) {
	var fault error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if cause := recover(); cause != nil {
				fault = fmt.Errorf("%v\n%s", cause, debug.Stack())
			}
		}()
		do()
	}()
	<-done
	if fault != nil {
		panic(fault)
	}
}
