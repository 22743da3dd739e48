package jobs_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// These make this test binary a process of the queue that works at a database and conducts itself in one way.
const (
	childURL     = "STENOMETER_TEST_JOBS_URL"
	childConduct = "STENOMETER_TEST_JOBS_CONDUCT"
)

// runChild says "working" when it works a job and then, by its conduct, waits until it is killed or exits.
func runChild(url, conduct string) {
	ctx := context.Background()
	db, err := models.Open(ctx, models.Options{URL: url, MaxConnections: 4})
	if err == nil {
		var j *jobs.Jobs
		if j, err = jobs.New(db, options("worker")); err == nil {
			jobs.Register(j, work{do: func(context.Context, *river.Job[task]) error {
				fmt.Println("working")
				if conduct == "exit" {
					os.Exit(0)
				}
				select {}
			}})
			err = j.Start(ctx)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	select {}
}

// child starts such a process and returns when it works a job.
func child(t *testing.T, url, conduct string) *exec.Cmd {
	t.Helper()
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), childURL+"="+url, childConduct+"="+conduct)
	process.Stderr = t.Output()
	output, err := process.StdoutPipe()
	if err == nil {
		err = process.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill() // it may be dead already
		_ = process.Wait()
	})
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(output).ReadString('\n')
		lines <- line
	}()
	if line := receive(t, lines, "another process works"); !strings.HasPrefix(line, "working") {
		t.Fatalf("the other process said %q", line)
	}
	return process
}

func kill(t *testing.T, process *exec.Cmd) {
	t.Helper()
	if err := process.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	_ = process.Wait() // tells that it was killed
}

func TestJobOfAKilledProcessIsResumedByALivingOne(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		web, db := start(t, url, judging("web"), work{})
		id := enqueue(t, web, db, 1)
		process := child(t, url, "wait")
		resumed := make(chan int, 2)
		living, _ := start(t, url, judging("worker"), work{do: func(_ context.Context, job *river.Job[task]) error {
			resumed <- job.Attempt
			return nil
		}})
		if n := len(alive(t, living)); n != 3 {
			t.Errorf("%d processes are alive, want 3", n)
		}
		kill(t, process)
		killed := time.Now()
		if attempt := receive(t, resumed, "the job is resumed"); attempt != 1 {
			t.Errorf("it is attempt %d, want 1: a death is no failed attempt", attempt)
		}
		if took := time.Since(killed); took > 15*time.Second {
			t.Errorf("it took %s, with death after 2s", took)
		}
		reaches(t, db, id, "completed")
		if n := len(alive(t, living)); n != 2 {
			t.Errorf("%d processes are alive, want 2", n)
		}
		if len(resumed) != 0 {
			t.Error("the job was resumed twice")
		}
	})
}

func TestJobOfAKilledProcessIsResumedAtTheNextStart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		db := modelstest.Open(t, url, false)
		web, err := jobs.New(db, options("web"))
		if err != nil {
			t.Fatal(err)
		}
		jobs.Register(web, work{})
		id := enqueue(t, web, db, 1)
		kill(t, child(t, url, "wait"))
		restarted := time.Now()
		resumed := make(chan struct{}, 1)
		start(t, url, judging("all"), work{do: func(context.Context, *river.Job[task]) error {
			resumed <- struct{}{}
			return nil
		}})
		receive(t, resumed, "the job is resumed")
		if took := time.Since(restarted); took > 15*time.Second {
			t.Errorf("it took %s, with death after 2s", took)
		}
		reaches(t, db, id, "completed")
	})
}

func TestJobThatWasToBeCanceledIsNotResumed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		web, db := start(t, url, judging("web"), work{})
		id := enqueue(t, web, db, 1)
		process := child(t, url, "wait")
		if err := web.Cancel(context.Background(), id); err != nil {
			t.Fatal(err)
		}
		kill(t, process)
		reaches(t, db, id, "cancelled")
	})
}

func TestJobThatKillsItsProcessesGivesUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		web, db := start(t, url, judging("web"), work{})
		id := enqueue(t, web, db, 1)
		for range 5 {
			process := child(t, url, "exit")
			_ = process.Wait()
			reaches(t, db, id, "available")
		}
		told := make(chan error, 1)
		start(t, url, judging("worker"), work{
			do: func(context.Context, *river.Job[task]) error {
				t.Error("the job was worked a sixth time")
				return nil
			},
			gaveUp: func(_ *river.Job[task], cause error) error {
				told <- cause
				return nil
			},
		})
		if cause := receive(t, told, "the worker is told"); !strings.Contains(cause.Error(), jobs.ErrKilled.Error()) {
			t.Errorf("the cause is %v", cause)
		}
		reaches(t, db, id, "cancelled")
	})
}

func alive(t *testing.T, j *jobs.Jobs) []models.Process {
	t.Helper()
	processes, err := j.Alive(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return processes
}
