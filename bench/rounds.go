package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/stenometer/stenometer/bench/answer"
)

// perRequests is what CPU time is told for.
const perRequests = 100_000

// sample is one variant in one round.
type sample struct {
	load load
	// cpu and redisCPU are seconds for perRequests requests, of the server's processes and of redis-server.
	cpu, redisCPU float64
}

func (b *bench) flaskFolder() string   { return filepath.Join(b.source, "flask") }
func (b *bench) flaskDatabase() string { return filepath.Join(b.work, "flask.db") }

// prepareHTTP makes the accounts, the tokens and the peers' database, and keeps the product's answer for the peers.
func (b *bench) prepareHTTP(ctx context.Context) error {
	if err := os.MkdirAll(b.dataFolder(), 0o700); err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	var err error
	b.tokens, err = seed(ctx, "sqlite://"+filepath.Join(b.dataFolder(), "stenometer.db"))
	if err != nil {
		return err
	}
	if err := b.writeTokens(); err != nil {
		return err
	}
	p, text, err := b.running(ctx, b.product("memory://"))
	if err != nil {
		return err
	}
	if err := errors.Join(p.stop(), os.WriteFile(b.answerFile(), text, 0o600)); err != nil {
		return fmt.Errorf("keeping the product's answer: %w", err)
	}
	return b.command(ctx, b.flaskFolder(), b.flaskEnvironment(), b.python, "app.py")
}

// measureHTTP runs every variant once a round. Each round begins with another one, so that none is always first.
func (b *bench) measureHTTP(ctx context.Context, p plan, r *results) error {
	chosen, err := b.chosen(p)
	if err != nil {
		return err
	}
	r.variants = chosen
	r.samples = make(map[string][]sample)
	for round := range p.rounds {
		for i := range chosen {
			v := chosen[(i+round)%len(chosen)]
			s, err := b.sample(ctx, v, p.seconds)
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			r.samples[v.name] = append(r.samples[v.name], s)
		}
		progress("round %d of %d is over", round+1, p.rounds)
	}
	return nil
}

// sample starts a server, lets it warm up for a second, and measures it.
func (b *bench) sample(ctx context.Context, v variant, seconds int) (s sample, err error) {
	if err := b.redis.empty(ctx); err != nil {
		return s, err
	}
	p, text, err := b.running(ctx, v.on)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if err := b.sameAnswer(v, text); err != nil {
		return s, err
	}
	if v.commits {
		seconds *= 2 // it answers so few that one more or less would show
	}
	if _, err := b.drive(ctx, p.address, 1); err != nil && !errors.Is(err, errNoAnswer) {
		return s, err
	}
	cpu, redisCPU := p.cpu(), b.redis.cpu()
	s.load, err = b.drive(ctx, p.address, seconds)
	if err != nil {
		return s, err
	}
	each := perRequests / float64(s.load.requests)
	s.cpu, s.redisCPU = (p.cpu()-cpu)*each, (b.redis.cpu()-redisCPU)*each
	return s, nil
}

// sameAnswer refuses a variant that sends something else than the product.
func (b *bench) sameAnswer(v variant, text []byte) error {
	want, err := os.ReadFile(b.answerFile())
	if err != nil {
		return fmt.Errorf("reading the product's answer: %w", err)
	}
	if bytes.Equal(text, want) {
		return nil
	}
	var got, wanted any
	if v.exact || json.Unmarshal(text, &got) != nil || json.Unmarshal(want, &wanted) != nil || !reflect.DeepEqual(got, wanted) {
		return fmt.Errorf("it answers\n%s\nand the product\n%s", text, want)
	}
	return nil
}

// running starts a server and returns once it answers a token, with that answer. When it does not, it is started once
// more with its log in a file, which is part of the error.
func (b *bench) running(ctx context.Context, on func(string) launch) (*process, []byte, error) {
	for _, log := range []string{"", filepath.Join(b.work, "server.log")} {
		address, err := freeAddress(ctx)
		if err != nil {
			return nil, nil, err
		}
		p, err := b.start(ctx, on(address), address, log)
		if err != nil {
			return nil, nil, err
		}
		text, err := b.answered(ctx, address)
		if err == nil {
			return p, text, nil
		}
		err = errors.Join(err, p.stop())
		if log != "" || ctx.Err() != nil {
			return nil, nil, fmt.Errorf("%w\n%s", err, p.logged())
		}
	}
	return nil, nil, errors.New("unreachable")
}

// answered asks until the answer is a success.
func (b *bench) answered(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		text, err := b.ask(ctx, address)
		if err == nil {
			return text, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the server did not answer in time: %w", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (b *bench) ask(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+answer.Path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+b.tokens[0].token)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	return text, err
}
