package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/stenometer/stenometer/models"
)

// The sizes of the accounts that are compared.
const (
	smallLibrary = 1000
	largeLibrary = 100_000
)

// listSlot is how long one operation is asked for at a time, one request after the other.
const listSlot = 300 * time.Millisecond

// operation is a request that is measured in accounts of both sizes.
type operation struct {
	name string
	// demanded ones may take at most twice as long in the large account; others are reported.
	demanded bool
	path     func(l *library) string
	// none finds nothing; every other one something.
	none bool
}

func operations() []operation {
	fixed := func(path string) func(*library) string { return func(*library) string { return path } }
	list := func(query string) func(*library) string { return fixed("/api/v1/recordings?" + query) }
	search := func(text string) func(*library) string { return fixed("/api/v1/search?q=" + text) }
	changes := func(query string, cursor func(*library) string) func(*library) string {
		return func(l *library) string { return "/api/v1/recordings/changes?" + query + cursor(l) }
	}
	return []operation{
		{name: "list with its total", demanded: true, path: fixed("/api/v1/recordings")},
		{name: "detail", demanded: true, path: func(l *library) string { return fmt.Sprint("/api/v1/recordings/", l.rows/2) }},
		{name: "feed, what is new", demanded: true, path: changes("cursor=", func(l *library) string { return l.news })},
		{name: "feed, a page of a full pass", demanded: true, path: changes("cursor=", func(l *library) string { return l.middle })},
		{name: "stats", demanded: true, path: fixed("/api/v1/stats")},
		{name: "list by tag", path: list("tag_id=3")},
		{name: "list by folder", path: list("folder_id=3")},
		{name: "list by text, found", path: list("q=" + titleWord)},
		{name: "list by text, not found", path: list("q=" + noWord), none: true},
		{name: "list by text that only transcripts have", path: list("q=" + commonWord), none: true},
		{name: "list by status", path: list("status=failed")},
		{name: "list by title", path: list("sort_by=title&sort_order=asc")},
		{name: "list, a page in the middle", path: func(l *library) string { return fmt.Sprint("/api/v1/recordings?page=", l.rows/50) }},
		{name: "search, rare word", path: search(rareWord)},
		{name: "search, common word", path: search(commonWord)},
		{name: "search, two words", path: search(seldomWord + "%20" + otherWord)},
		{name: "search, two letters", path: search(shortWord)},
	}
}

// listSample is what one operation took in one round.
type listSample struct {
	// latency is the median in milliseconds, cpu seconds of the server and its database for listRequests requests.
	latency, cpu float64
}

// listRequests is what CPU time of lists is told for.
const listRequests = 1000

// listKey is an operation in an account.
type listKey struct {
	operation string
	dialect   models.Dialect
	rows      int
}

// listResults are those of this part.
type listResults struct {
	small, large int
	samples      map[listKey][]listSample
	plans        []queryPlan
}

// measureLists asks accounts of both sizes in turn, on both databases.
func (b *bench) measureLists(ctx context.Context, p plan, r *results) (err error) {
	found := &listResults{small: smallLibrary, large: largeLibrary, samples: make(map[listKey][]listSample)}
	if p.short {
		found.large = 5 * smallLibrary
	}
	libraries, err := b.openLibraries(ctx, []int{found.small, found.large})
	defer func() {
		for _, l := range libraries {
			err = errors.Join(err, l.close())
		}
	}()
	if err != nil {
		return err
	}
	for round := range p.rounds {
		for _, o := range operations() {
			for i := range libraries {
				// Each round begins with the other size.
				l := libraries[i^round&1]
				s, err := l.sample(ctx, o)
				if err != nil {
					return fmt.Errorf("%s of %d on %s: %w", o.name, l.rows, l.dialect, err)
				}
				key := listKey{o.name, l.dialect, l.rows}
				found.samples[key] = append(found.samples[key], s)
			}
		}
		progress("round %d of %d of lists is over", round+1, p.rounds)
	}
	if found.plans, err = b.readPlans(ctx, libraries); err != nil {
		return err
	}
	r.lists = found
	return nil
}

// sample asks one thing again and again for a while.
func (l *library) sample(ctx context.Context, o operation) (s listSample, err error) {
	path := o.path(l)
	if err := l.check(ctx, path, o.none); err != nil {
		return s, err
	}
	var latencies []float64
	before, began := l.cpu(), time.Now()
	for len(latencies) < 3 || time.Since(began) < listSlot {
		asked := time.Now()
		if err := l.read(ctx, http.MethodGet, path, nil, nil); err != nil {
			return s, err
		}
		latencies = append(latencies, milliseconds(time.Since(asked)))
	}
	return listSample{median(latencies), (l.cpu() - before) * listRequests / float64(len(latencies))}, nil
}

// check refuses an operation that finds something else than it is there to find: it would be quick.
func (l *library) check(ctx context.Context, path string, none bool) error {
	var answer map[string]any
	if err := l.read(ctx, http.MethodGet, path, nil, &answer); err != nil {
		return err
	}
	for _, member := range []string{"recordings", "changes", "results"} {
		if rows, ok := answer[member].([]any); ok && (len(rows) == 0) != none {
			return fmt.Errorf("%s finds %d", path, len(rows))
		}
	}
	if total, ok := answer["recordings"].(map[string]any); ok && total["total"] != float64(l.rows) {
		return fmt.Errorf("%s counts %v of %d", path, total["total"], l.rows)
	}
	return nil
}

// cpu is how many seconds of CPU the server and its database have used.
func (l *library) cpu() float64 {
	seconds := l.server.cpu()
	if l.database != 0 {
		seconds += cpuOf(l.database)
	}
	return seconds
}

// read sends a request and reads its answer, into the value if there is one.
func (l *library) read(ctx context.Context, method, path string, body, into any) error {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+l.server.address+path, sent)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+l.owner.token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", response.StatusCode, text)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	return err
}
