// Command server is Stenometer: recordings in, transcripts out, through an API whose bill is bounded at the door.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/stenometer/stenometer/server"
)

// version is set by the build (-ldflags "-X main.version=...").
var version = "dev"

// gcPercent is how much the heap may grow between two collections. Hardly a byte outlives its request: at Go's own 100
// a small heap is collected so often that this is a fifth of a request's cost. GOGC in the environment wins.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := server.Main(ctx, server.Invocation{
		Arguments:   os.Args[1:],
		Environment: os.Environ(),
		Input:       os.Stdin,
		Output:      os.Stdout,
		Errors:      os.Stderr,
		Version:     version,
	})
	stop()
	os.Exit(code)
}
