package server

import (
	"context"
	"crypto/rand"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/tokens"
)

//go:embed demodata/speech.flac
var demoSpeech []byte

//go:embed demodata/speech.txt
var demoText string

// demoPatience bounds each waiting step of the demo: a slow machine transcribes half a minute of speech in it.
const demoPatience = 5 * time.Minute

// demo runs the main job end to end on embedded defaults: a real recording goes in through the guarded API, its
// transcript, a summary and an answer come out with their bill, a question beyond the budget is refused, and a client
// that asks too often is told to wait. Every step is checked; one that does not
// hold is an error. It stays up afterwards unless --exit is given.
func demo(ctx context.Context, call Invocation, arguments []string) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	leave := flags.Bool("exit", false, "end after the last step instead of staying up")
	if err := parse(call, flags, arguments); err != nil {
		return err
	}
	environment, remove, err := demoEnvironment(call.Environment)
	if err != nil {
		return err
	}
	defer remove()
	call.Environment = environment
	cfg, err := loadFrom(call, noDotenv)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	running, err := start(ctx, call, cfg, RoleAll)
	if err != nil {
		return err
	}
	err = demoSteps(ctx, call.Output, running, cfg, *leave)
	stop()
	if ended := running.Wait(); err == nil {
		err = ended
	}
	return err
}

// demoEnvironment puts the demo's data into a temporary folder, its server on a free port and its log at warnings, so
// that the steps can be read; unless the caller chose. What would lead away from the embedded parts is left out: the
// demo makes an account, which has no place in a real database. remove takes the folder away again.
func demoEnvironment(environment []string) (changed []string, remove func(), err error) {
	changed = slices.DeleteFunc(slices.Clone(environment), leadsAway)
	own, err := os.MkdirTemp("", "stenometer-demo-")
	if err != nil {
		return nil, nil, fmt.Errorf("making the demo's folder: %w", err)
	}
	remove = func() { _ = os.RemoveAll(own) }
	prices := filepath.Join(own, "prices.yaml")
	if err := os.WriteFile(prices, demoPrices, 0o600); err != nil {
		remove()
		return nil, nil, fmt.Errorf("writing the demo's prices: %w", err)
	}
	changed = append(changed, "PRICES_FILE="+prices)
	chosen := func(name string) bool {
		return slices.ContainsFunc(environment, func(entry string) bool {
			return strings.HasPrefix(entry, name+"=") && len(entry) > len(name)+1
		})
	}
	if !chosen("LISTEN_ADDR") {
		changed = append(changed, "LISTEN_ADDR=127.0.0.1:0")
	}
	if !chosen("LOG_LEVEL") {
		changed = append(changed, "LOG_LEVEL=warn")
	}
	if !chosen("DATA_DIR") {
		changed = append(changed, "DATA_DIR="+filepath.Join(own, "data"))
	}
	return changed, remove, nil
}

// leadsAway reports whether a setting would have the demo use something else than what is embedded.
func leadsAway(entry string) bool {
	name, _, _ := strings.Cut(entry, "=")
	return slices.Contains([]string{
		"DATABASE_URL", "FILE_STORAGE_URL", "RATELIMIT_STORAGE_URI", "PRICES_FILE", "AI_MONTHLY_BUDGET_USD", "AUTO_SUMMARIZATION",
	}, name) || strings.HasPrefix(name, "TRANSCRIPTION_") || strings.HasPrefix(name, "ASR_") || strings.HasPrefix(name, "TEXT_MODEL_")
}

// reachable is an address of the listener that a client on this machine can use: one that listens everywhere names no
// host.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsUnspecified() {
		return address
	}
	return net.JoinHostPort("127.0.0.1", port)
}

func demoSteps(ctx context.Context, out io.Writer, running *Running, cfg *config.Config, leave bool) error {
	client := &demoClient{address: "http://" + reachable(running.Address()), http: demoHTTP()}
	fmt.Fprintf(out, "server       %s (data in %s)\n", client.address, cfg.DataDir)

	userID, token, spare, err := demoAccount(ctx, running)
	if err != nil {
		return err
	}
	if err := client.expectRefusal(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "no token     401, as it should be")
	client.token = token

	id, err := client.upload(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "upload       202, recording %d (%d KiB of speech)\n", id, len(demoSpeech)/1024)
	if err := client.awaitTranscript(ctx, id); err != nil {
		return err
	}
	segments, err := client.transcript(ctx, id)
	if err != nil {
		return err
	}
	if err := printComparison(out, segments); err != nil {
		return err
	}
	if err := demoMoney(ctx, out, client, running, userID, id); err != nil {
		return err
	}
	if err := client.exhaust(ctx, out, cfg.TokenRateRead); err != nil {
		return err
	}
	if leave {
		fmt.Fprintln(out, "every step held")
		return nil
	}
	fmt.Fprintf(out, "\nThe server stays up until it is interrupted. Try:\n\n  curl -H 'Authorization: Bearer %s' %s/api/v1/recordings\n\n", spare, client.address)
	<-ctx.Done()
	return nil
}

// demoAccount makes the demo's account and two tokens, beside the running server as the commands do: one that the steps
// use up, and a spare one for the person who watches.
func demoAccount(ctx context.Context, running *Running) (userID int64, token, spare string, err error) {
	s := running.Server()
	if s == nil {
		return 0, "", "", running.Wait()
	}
	user, err := s.accounts.Create(ctx, accounts.NewUser{
		Email: "demo-" + strings.ToLower(rand.Text()) + "@example.org", Username: "demo-" + rand.Text(),
		Password: rand.Text(), Role: "editor",
	})
	if err != nil {
		return 0, "", "", fmt.Errorf("making the demo's account: %w", err)
	}
	plain := make([]string, 2)
	for i, name := range []string{"demo", "spare"} {
		if plain[i], _, err = s.tokens.Create(ctx, tokens.Wish{UserID: user.ID, Name: &name}); err != nil {
			return 0, "", "", fmt.Errorf("making the demo's tokens: %w", err)
		}
	}
	return user.ID, plain[0], plain[1], nil
}

// printComparison shows what was heard beside what was said and fails when nothing of use was heard.
func printComparison(out io.Writer, segments []demoSegment) error {
	fmt.Fprintln(out, "\ntranscript (embedded engine: English, demo grade)")
	heard := make([]string, 0, len(segments))
	for _, s := range segments {
		fmt.Fprintf(out, "  %6.2f - %6.2f  %s\n", s.StartTime, s.EndTime, s.Text)
		heard = append(heard, s.Text)
	}
	fmt.Fprintln(out, "what was said")
	for _, line := range strings.Split(strings.TrimSpace(demoText), "\n") {
		fmt.Fprintf(out, "                   %s\n", line)
	}
	rate := wordErrorRate(demoText, strings.Join(heard, " "))
	fmt.Fprintf(out, "word error rate  %.0f %%\n\n", 100*rate)
	if rate > demoWorstRate {
		return fmt.Errorf("the transcript has a word error rate of %.0f %%, more than %.0f %%", 100*rate, 100*demoWorstRate)
	}
	return nil
}

// demoWorstRate is above what the embedded engine does on this recording (about a third) and below any text that
// is not a transcript of it.
const demoWorstRate = 0.5

// demoHTTP follows no redirect: the API never sends one.
func demoHTTP() *http.Client {
	return &http.Client{
		Timeout:       demoPatience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
