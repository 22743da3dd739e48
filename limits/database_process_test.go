package limits

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// racerStorage makes TestDatabaseRacer of a re-executed test binary a process that only takes; racerAttempts is how often.
const (
	racerStorage  = "STENOMETER_TEST_RACER_STORAGE"
	racerAttempts = "STENOMETER_TEST_RACER_ATTEMPTS"
	racerFigure   = "STENOMETER_TEST_RACER_FIGURE"
)

// openStorage opens a store by a text that a process can be given: a URL, or the path of a SQLite file.
func openStorage(ctx context.Context, storage string) (databaseStore, error) {
	options := DatabaseOptions{Timeout: 10 * time.Second}
	if strings.HasPrefix(storage, "postgres") {
		return OpenPostgres(ctx, storage, options)
	}
	return OpenSQLite(ctx, storage, options)
}

// TestDatabaseRacer is not a test but the other process of the tests below: it opens the storage, says so, waits for a
// line, and then says "1" for every request that was admitted.
func TestDatabaseRacer(t *testing.T) {
	storage := os.Getenv(racerStorage)
	if storage == "" {
		return
	}
	attempts, err := strconv.ParseInt(os.Getenv(racerAttempts), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	figure, err := strconv.ParseInt(os.Getenv(racerFigure), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	store, err := openStorage(t.Context(), storage)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := next.Add(1); i <= attempts; i = next.Add(1) {
				d, err := store.Take(t.Context(), perAccount(17, figure, time.Hour), nil)
				if err != nil {
					fmt.Println("error:", err)
				} else if d.Admitted {
					fmt.Println("1")
				}
			}
		})
	}
	group.Wait()
}

// racer is a process that takes.
type racer struct {
	command *exec.Cmd
	start   io.WriteCloser
	lines   *bufio.Scanner
}

func startRacer(t *testing.T, storage string, attempts, figure int64) *racer {
	t.Helper()
	command := exec.Command(os.Args[0], "-test.run", "^TestDatabaseRacer$")
	command.Env = append(os.Environ(), racerStorage+"="+storage, racerAttempts+"="+fmt.Sprint(attempts), racerFigure+"="+fmt.Sprint(figure))
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Stderr = t.Output()
	start, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	r := &racer{command: command, start: start, lines: bufio.NewScanner(lines)}
	t.Cleanup(func() { _ = command.Process.Kill() })
	for r.lines.Scan() {
		if r.lines.Text() == "ready" {
			return r
		}
	}
	t.Fatal("the process ended before it was ready")
	return nil
}

// admitted reads until the process ends, or so many requests were admitted, and tells how many were.
func (r *racer) admitted(t *testing.T, enough int) (admitted int) {
	for r.lines.Scan() {
		switch text := r.lines.Text(); {
		case text == "1":
			if admitted++; admitted == enough {
				return admitted
			}
		case strings.HasPrefix(text, "error"):
			t.Error(text)
		}
	}
	return admitted
}

// eachStorage runs the test on a new storage of both databases, by its name.
func eachStorage(t *testing.T, test func(t *testing.T, storage string)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, filepath.Join(t.TempDir(), "limits.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, migratedPostgres(t))
	})
}

func TestThreeProcessesOnOneDatabaseAreExact(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage string) {
		var racers []*racer
		for range 3 {
			racers = append(racers, startRacer(t, storage, 150, 240))
		}
		var all atomic.Int64
		var group sync.WaitGroup
		for _, r := range racers {
			if _, err := io.WriteString(r.start, "go\n"); err != nil {
				t.Fatal(err)
			}
			group.Go(func() {
				all.Add(int64(r.admitted(t, -1)))
				if err := r.command.Wait(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if all.Load() != 240 {
			t.Errorf("%d of 450 requests were admitted by three processes; the figure is 240", all.Load())
		}
	})
}

// A process that is killed leaves no lock behind and no half of a decision; everything that it was told was admitted
// is counted.
func TestAKilledProcessLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	eachStorage(t, func(t *testing.T, storage string) {
		const figure = MaxFigure
		store, err := openStorage(t.Context(), storage)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		told := 0
		for round := range 5 {
			r := startRacer(t, storage, 1e9, figure)
			if _, err := io.WriteString(r.start, "go\n"); err != nil {
				t.Fatal(err)
			}
			told += r.admitted(t, 20+7*round)
			if err := r.command.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			told += r.admitted(t, -1)
			_ = r.command.Wait() // says that it was killed

			began := time.Now()
			mustAdmit(t, store, perAccount(17, figure, time.Hour), true)
			if took := time.Since(began); took > time.Second {
				t.Errorf("after the kill a decision took %v", took)
			}
			told++
			got := left(t, store, perAccount(17, figure, time.Hour))
			if got[0] != got[1] {
				t.Errorf("the account was charged %d, its token %d", figure-got[0], figure-got[1])
			}
			if used := figure - got[0]; used < int64(told) || used > int64(told+4*(round+1)) {
				t.Errorf("%d were told that they were admitted, %d are counted; 4 at most were under way at each kill", told, used)
			}
		}
	})
}
