// Command peers is one of the Go servers that the product is compared with, chosen by -mode:
//
//	chain         what the product does for every request, without its guard
//	bare          Echo as it comes
//	ulule         Echo, a look-up of the token, two stacked ulule/limiter middlewares, in memory
//	ulule-redis   the same, in Redis
//
// All send the same answer on the same route. It serves until it is told to stop.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/stenometer/stenometer/bench/answer"
)

// settings are the flags.
type settings struct {
	listen string
	redis  string
	tokens string
	quiet  bool
	answer answer.Capabilities
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var s settings
	mode := flag.String("mode", "", "chain, bare, ulule or ulule-redis")
	answerFile := flag.String("answer", "", "file with the JSON to send")
	flag.StringVar(&s.listen, "listen", "127.0.0.1:0", "address")
	flag.StringVar(&s.redis, "redis", "", "host:port of the Redis of ulule-redis")
	flag.StringVar(&s.tokens, "tokens", "", "file of tokens, one line each: account, token")
	flag.BoolVar(&s.quiet, "quiet", false, "chain: without the access log")
	flag.Parse()

	text, err := os.ReadFile(*answerFile)
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if err := json.Unmarshal(text, &s.answer); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	switch *mode {
	case "chain":
		return serveChain(ctx, s)
	case "bare":
		return serve(ctx, s.listen, &http.Server{Handler: bare(s)})
	case "ulule", "ulule-redis":
		handler, err := ululeTwice(s, *mode == "ulule-redis")
		if err != nil {
			return err
		}
		return serve(ctx, s.listen, &http.Server{Handler: handler})
	}
	return fmt.Errorf("no mode %q", *mode)
}

// serve answers at the address until ctx ends.
func serve(ctx context.Context, address string, web *http.Server) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	go func() {
		<-ctx.Done()
		_ = web.Close()
	}()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
