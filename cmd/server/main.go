// Command server is Stenometer: recordings in, transcripts out, through an API whose bill is bounded at the door.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/stenometer/stenometer/server"
)

// version is set by the build (-ldflags "-X main.version=...").
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := server.Main(ctx, server.Invocation{
		Arguments:   os.Args[1:],
		Environment: os.Environ(),
		Input:       os.Stdin,
		Output:      os.Stdout,
		Errors:      os.Stderr,
		Version:     version,
		OwnProcess:  true,
	})
	stop()
	os.Exit(code)
}
