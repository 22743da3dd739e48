package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// openStreams is how many streams are open at once; openers is how many clients open them.
const (
	openStreams = 1000
	openers     = 8
)

// streamFigures are what open streams cost the server in each run, in MiB of resident memory.
type streamFigures struct{ before, grown []float64 }

// talker is a text model that says one word and then nothing until its caller leaves.
func talker(ctx context.Context) (address string, stop func() error, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listening as a text model: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: startPatience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"talker","choices":[{"index":0,"delta":{"role":"assistant","content":"word "}}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})}
	go func() { _ = server.Serve(listener) }() // ends with Close
	return "http://" + listener.Addr().String() + "/v1", server.Close, nil
}

// streaming is the product with a text model, and with as many streams for an organization as are opened.
func (b *bench) streaming(model string) func(string) launch {
	return func(address string) launch {
		started := b.product("memory://")(address)
		started.environment = append(started.environment,
			"TEXT_MODEL_BASE_URL="+model, "TEXT_MODEL_NAME=talker", "TEXT_MODEL_API_KEY=none",
			"AI_STREAM_MAX_CONCURRENT_PER_ORG="+strconv.Itoa(openStreams),
			"API_TOKEN_RATE_LIMIT_PROCESS=0", "API_USER_RATE_LIMIT_PROCESS=0", "RATE_LIMIT_AI_PER_USER_PER_MINUTE=0",
			"RATE_LIMIT_AI_PER_ORG_PER_MINUTE=0", "RATE_LIMIT_AI_PER_IP_PER_MINUTE=0")
		return started
	}
}

// measureStreams opens streams and looks at what the server's memory grew by.
func (b *bench) measureStreams(ctx context.Context, p plan, r *results) (err error) {
	model, stop, err := talker(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r.streams = &streamFigures{}
	for range p.runs {
		if err := b.streamsOnce(ctx, model, r.streams); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) streamsOnce(ctx context.Context, model string, figures *streamFigures) (err error) {
	server, _, err := b.running(ctx, b.streaming(model))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	transport := &http.Transport{Proxy: nil, DisableKeepAlives: true}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	warming, leaveFirst := context.WithCancel(ctx)
	if err := b.stream(warming, transport, server.address, 0); err != nil { // code and connections are there from now on
		leaveFirst()
		return err
	}
	leaveFirst()
	time.Sleep(time.Second) // the warming stream is settled and its memory given back: it is no part of what the others cost
	before := residentOf(server.command.Process.Pid)
	failures := make(chan error, openers)
	var all sync.WaitGroup
	for opener := range openers {
		all.Go(func() {
			for i := opener; i < openStreams; i += openers {
				if err := b.stream(ctx, transport, server.address, i); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failures)
	if err := <-failures; err != nil {
		return err
	}
	figures.before = append(figures.before, before)
	figures.grown = append(figures.grown, residentOf(server.command.Process.Pid)-before)
	return nil
}

// stream opens one and reads its first piece; it is open until its context ends.
func (b *bench) stream(ctx context.Context, over http.RoundTripper, address string, i int) error {
	body := `{"model":"talker","stream":true,"messages":[{"role":"user","content":"Say a word."}]}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking for a stream: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+b.tokens[i%len(b.tokens)].token)
	request.Header.Set("Content-Type", "application/json")
	response, err := over.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("asking for a stream: %w", err)
	}
	first, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil || response.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("a stream is answered %d %q, %w", response.StatusCode, first, err), response.Body.Close())
	}
	return nil
}

// residentOf is a process's resident memory in MiB.
func residentOf(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kilobytes, _ := strconv.ParseFloat(fields[1], 64)
			return kilobytes / 1024
		}
	}
	return 0
}

func (r *results) streamBars() []bar {
	if r.streams == nil {
		return nil
	}
	return []bar{{what: fmt.Sprintf("memory that %d open streams cost", openStreams), most: 100, unit: " MiB", values: r.streams.grown}}
}

func (r *results) writeStreams(w *strings.Builder) {
	fmt.Fprintf(w, "\n## Open streams\n\n%d answers of `POST /v1/chat/completions`, opened by %d clients, each waiting for a text model after its first word. MiB of\nresident memory, %d runs.\n\n",
		openStreams, openers, r.plan.runs)
	fmt.Fprintf(w, "| | MiB |\n|---|---|\n| before | %s |\n| more with the streams | %s |\n", spread(r.streams.before), spread(r.streams.grown))
}
