package main

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

const wrkReport = `Running 3s test @ http://127.0.0.1:1
  2 threads and 32 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.31ms    5.00ms  99.00ms   91.00%
    Req/Sec     9.00k     1.00k   11.00k    70.00%
  Latency Distribution
     50%  850.00us
     75%    2.00ms
     90%    5.00ms
     99%    1.25s
  53990 requests in 3.01s, 40.00MB read
  Socket errors: connect 1, read 2, write 3, timeout 4
  Non-2xx or 3xx responses: 11
Requests/sec:  17936.88
Transfer/sec:     13.00MB
`

func TestTheLoadGeneratorsReportIsRead(t *testing.T) {
	t.Parallel()
	got, err := parseLoad(wrkReport)
	want := load{requests: 53990, perSecond: 17936.88, p50: 850 * time.Microsecond, p99: 1250 * time.Millisecond, bad: 11, failed: 10}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestARunWithoutAnswersIsNoFigure(t *testing.T) {
	t.Parallel()
	if _, err := parseLoad(strings.Replace(wrkReport, "53990 requests", "0 requests", 1)); !errors.Is(err, errNoAnswer) {
		t.Errorf("nothing answered: %v", err)
	}
	if _, err := parseLoad("unable to connect\n"); err == nil {
		t.Error("another report was taken for figures")
	}
}

// The CPU time of workers that have ended stands in their parent's line, and a program's name may look like fields.
func TestTicksOfEndedChildrenCount(t *testing.T) {
	t.Parallel()
	got, err := ticksOf("42 (a) b 9 9) S 1 42 42 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 12345 1 2")
	if err != nil || got != 127 {
		t.Errorf("got %d, %v, want 127", got, err)
	}
	if _, err := ticksOf("42 (a) S 1 2"); err == nil {
		t.Error("a line that was cut short is no CPU time")
	}
}

func TestBenchmarksAreReadByUnit(t *testing.T) {
	t.Parallel()
	all := make(timings)
	for range 2 {
		err := all.add("goos: linux\nBenchmarkRedis/ours_2/callers=16-2 \t 1840\t 66190 ns/op\t 18230 client-ns/op\t 1610 B/op\t 38 allocs/op\nPASS\n")
		if err != nil {
			t.Fatal(err)
		}
	}
	for unit, want := range map[string]float64{"ns/op": 66190, "client-ns/op": 18230, "allocs/op": 38} {
		if got := all.values("Redis/ours_2/callers=16", unit); len(got) != 2 || got[0] != want {
			t.Errorf("%s: %v, want %v twice", unit, got, want)
		}
	}
}

func TestMedians(t *testing.T) {
	t.Parallel()
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("of three: %v", got)
	}
	if got := median([]float64{1, 2, 4, 8}); got != 3 {
		t.Errorf("of four: %v", got)
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("of none: %v", got)
	}
}

// A slow round is slow for both sides: ratios are taken round by round.
func TestRatiosArePaired(t *testing.T) {
	t.Parallel()
	got := ratios([]float64{2, 20, 6}, []float64{1, 10})
	if len(got) != 2 || got[0] != 2 || got[1] != 2 {
		t.Errorf("got %v, want 2 and 2", got)
	}
}

func TestBarsAreJudgedByTheMedian(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		bar  bar
		want string
	}{
		{bar{most: 1.2, values: []float64{1.1, 1.2, 9}}, "yes"},
		{bar{most: 1.2, values: []float64{1.1, 1.3, 1.3}}, "**no**"},
		{bar{least: 40, values: []float64{39, 40}}, "**no**"},
		{bar{least: 40, values: []float64{40}}, "yes"},
		{bar{none: true, values: []float64{0, 0, 1}}, "yes"},
		{bar{none: true, values: []float64{0, 1, 1}}, "**no**"},
		{bar{most: 1.2}, "not run"},
		{bar{values: []float64{7}}, ""},
	} {
		if got := row.bar.met(); got != row.want {
			t.Errorf("%+v: %q, want %q", row.bar, got, row.want)
		}
	}
}

func TestNotesStandBelowTheResults(t *testing.T) {
	t.Parallel()
	if got := belowTitle("# Notes\n\nText.\n\n## More\n"); got != "Text.\n\n### More\n" {
		t.Errorf("got %q", got)
	}
}

func TestPlansAreShortened(t *testing.T) {
	t.Parallel()
	if got := shortened("id IN (9,8,7,6,5) AND user_id = 1 AND id IN (1,2)"); got != "id IN (9, …) AND user_id = 1 AND id IN (1,2)" {
		t.Errorf("got %q", got)
	}
}

// Whatever the database and the size, an operation is compared with itself.
func TestListsAreComparedBySize(t *testing.T) {
	t.Parallel()
	samples := map[listKey][]listSample{
		{"stats", "sqlite", 1000}: {{latency: 2, cpu: 1}}, {"stats", "sqlite", 5000}: {{latency: 3, cpu: 4}}, {"stats", "postgres", 5000}: {{latency: 99}},
	}
	r := &results{lists: &listResults{small: 1000, large: 5000, samples: samples}}
	met := map[string]string{}
	for _, b := range r.listBars() {
		met[b.what] = b.met()
	}
	for what, want := range map[string]string{
		"stats, 100,000 recordings / 1,000, SQLite, latency": "yes", "stats, 100,000 recordings / 1,000, SQLite, CPU": "**no**",
		"stats, 100,000 recordings / 1,000, PostgreSQL, latency": "not run", "detail, 100,000 recordings / 1,000, SQLite, CPU": "not run",
	} {
		if met[what] != want {
			t.Errorf("%s: %q, want %q", what, met[what], want)
		}
	}
}
