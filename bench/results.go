package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// notesFile holds what people wrote about the figures. The tool reads it and never writes it.
const notesFile = "NOTES.md"

// results are everything that a run found.
type results struct {
	plan     plan
	machine  []string
	took     time.Duration
	variants []variant
	// samples are the rounds of each variant, by its name.
	samples       map[string][]sample
	queries       *queryCount
	memory, redis timings
	footprints    []footprint
	lists         *listResults
	streams       *streamFigures
	webhooks      *webhookFigures
}

// cpu is a variant's CPU time in each round.
func (r *results) cpu(name string) []float64 {
	var values []float64
	for _, s := range r.samples[name] {
		values = append(values, s.cpu)
	}
	return values
}

// markdown is the file of results.
func (r *results) markdown() string {
	var w strings.Builder
	fmt.Fprintf(&w, "# Results\n\nWritten by `make bench`; [README.md](README.md) says how it measures. Medians, with the lowest and the highest in\nparentheses. It took %v.\n\n", r.took.Round(time.Second))
	if r.plan.short {
		fmt.Fprint(&w, "**A short run: it shows that the harness works. Its figures mean nothing.**\n\n")
	}
	for _, line := range r.machine {
		fmt.Fprintf(&w, "- %s\n", line)
	}
	r.writeBars(&w)
	if len(r.samples) > 0 {
		r.writeHTTP(&w)
	}
	if r.queries != nil {
		r.writeQueries(&w)
	}
	if len(r.memory) > 0 {
		r.writeMemory(&w)
	}
	if len(r.footprints) > 0 {
		r.writeFootprints(&w)
	}
	if len(r.redis) > 0 {
		r.writeRedis(&w)
	}
	if r.lists != nil {
		r.writeLists(&w)
	}
	if r.streams != nil {
		r.writeStreams(&w)
	}
	if r.webhooks != nil {
		r.writeWebhooks(&w)
	}
	if notes, err := os.ReadFile(notesFile); err == nil {
		fmt.Fprintf(&w, "\n## Notes\n\nWritten by hand, in [%s](%s).\n\n%s", notesFile, notesFile, belowTitle(string(notes)))
	}
	return w.String()
}

// belowTitle is a document without its first heading, whose other headings go one level down.
func belowTitle(text string) string {
	if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(first, "# ") {
		text = strings.TrimLeft(rest, "\n")
	}
	var w strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			line = "#" + line
		}
		w.WriteString(line)
	}
	return w.String()
}

func (r *results) writeBars(w *strings.Builder) {
	fmt.Fprint(w, "\n## What is demanded\n\nRatios of HTTP are of CPU time for the same number of requests, round by round.\n\n")
	fmt.Fprint(w, "| figure | demanded | measured | met |\n|---|---|---|---|\n")
	for _, b := range r.bars() {
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", b.what, b.wanted(), b.measured(), b.met())
	}
}

func (r *results) writeHTTP(w *strings.Builder) {
	fmt.Fprintf(w, "\n## Over HTTP\n\n%d rounds of %d s each, %d connections, %d tokens of %d accounts. CPU is seconds of the server's processes for\n%d requests.\n\n",
		r.plan.rounds, r.plan.seconds, connections, accountCount*tokensPerAccount, accountCount, perRequests)
	fmt.Fprint(w, "| variant | what it is | CPU s | redis-server CPU s | requests/s | p50 ms | p99 ms | bad answers | failed |\n|---|---|---|---|---|---|---|---|---|\n")
	var doubtful []string
	for _, v := range r.variants {
		var redisCPU, rate, p50, p99 []float64
		bad, failed := 0, 0
		for _, s := range r.samples[v.name] {
			redisCPU, rate = append(redisCPU, s.redisCPU), append(rate, s.load.perSecond)
			p50, p99 = append(p50, milliseconds(s.load.p50)), append(p99, milliseconds(s.load.p99))
			bad, failed = bad+s.load.bad, failed+s.load.failed
		}
		inRedis := ""
		if v.inRedis {
			inRedis = spread(redisCPU)
		}
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %s | %s | %s | %d | %d |\n",
			v.name, v.about, spread(r.cpu(v.name)), inRedis, spread(rate), figure(median(p50)), figure(median(p99)), bad, failed)
		if bad+failed > 0 {
			doubtful = append(doubtful, "`"+v.name+"`")
		}
	}
	if len(doubtful) > 0 {
		fmt.Fprintf(w, "\n**Not every answer of %s was a success: what refuses or fails costs something else than what answers.**\n", strings.Join(doubtful, ", "))
	}
}

func (r *results) writeQueries(w *strings.Builder) {
	q := r.queries
	fmt.Fprintf(w, "\n## Queries of the database\n\nThe product on PostgreSQL, counts in memory: a life of %d s in which nobody asks, and one in which %d requests are answered.\n\n", q.seconds, q.requests)
	fmt.Fprintf(w, "| | transactions |\n|---|---|\n| idle | %d |\n| with requests | %d |\n| more | %d |\n| more for 100,000 requests | %s |\n", q.idle, q.loaded, q.loaded-q.idle,
		figure(float64(q.loaded-q.idle)*perRequests/float64(max(1, q.requests))))
	fmt.Fprintf(w, "\nEach of the %d tokens is looked up once, and again after a minute or when a credential has changed; its last use is\nwritten in batches. Neither grows with the requests.\n", accountCount*tokensPerAccount)
}

func (r *results) writeMemory(w *strings.Builder) {
	fmt.Fprintf(w, "\n## One decision in memory\n\nns, %d runs. The number behind a name is how many limits are decided about.\n\n", r.plan.runs)
	names := slices.Sorted(maps.Keys(r.memory))
	sizes := []string{"1", "100000", "1000000"}
	fmt.Fprint(w, "| store | 1 key | 1, parallel | 100,000 keys | 100,000, parallel | 1,000,000 keys | 1,000,000, parallel | B, allocations at 100,000 |\n|---|---|---|---|---|---|---|---|\n")
	for _, name := range names {
		store, ok := strings.CutSuffix(strings.TrimPrefix(name, "Memory/"), "/keys=1/serial")
		if !ok {
			continue
		}
		fmt.Fprintf(w, "| %s ", store)
		for _, size := range sizes {
			for _, how := range []string{"serial", "parallel"} {
				fmt.Fprintf(w, "| %s ", spread(r.memory.values("Memory/"+store+"/keys="+size+"/"+how, "ns/op")))
			}
		}
		at := "Memory/" + store + "/keys=100000/serial"
		fmt.Fprintf(w, "| %s, %s |\n", figure(median(r.memory.values(at, "B/op"))), figure(median(r.memory.values(at, "allocs/op"))))
	}
	fmt.Fprint(w, "\n| clock | ns |\n|---|---|\n")
	for _, name := range names {
		if clock, ok := strings.CutPrefix(name, "Clock/"); ok {
			fmt.Fprintf(w, "| %s | %s |\n", clock, spread(r.memory.values(name, "ns/op")))
		}
	}
}

func (r *results) writeFootprints(w *strings.Builder) {
	fmt.Fprint(w, "\n## What a key takes\n\nA limit of 5000 per day; requests are spread over the day. Bytes for each key.\n\n| store | keys | requests each | heap | resident |\n|---|---|---|---|---|\n")
	for _, f := range r.footprints {
		fmt.Fprintf(w, "| %s | %d | %d | %s | %s |\n", f.store, f.tokens, f.requests, figure(f.heap), figure(f.resident))
	}
}

func (r *results) writeRedis(w *strings.Builder) {
	fmt.Fprintf(w, "\n## One decision in Redis\n\nµs, %d runs; CPU here and in redis-server for one decision beside it. `full` has every quantum live.\n\n", 2*r.plan.runs)
	fmt.Fprint(w, "| what | serial | CPU here | CPU in Redis | 16 callers | CPU here | CPU in Redis | B, allocations |\n|---|---|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(r.redis)) {
		store, ok := strings.CutSuffix(strings.TrimPrefix(name, "Redis/"), "/callers=1")
		if !ok {
			continue
		}
		fmt.Fprintf(w, "| %s ", store)
		for _, callers := range []string{"1", "16"} {
			at := "Redis/" + store + "/callers=" + callers
			fmt.Fprintf(w, "| %s | %s | %s ", spread(micro(r.redis.values(at, "ns/op"))),
				figure(median(micro(r.redis.values(at, "client-ns/op")))), figure(median(micro(r.redis.values(at, "redis-ns/op")))))
		}
		fmt.Fprintf(w, "| %s, %s |\n", figure(median(r.redis.values(name, "B/op"))), figure(median(r.redis.values(name, "allocs/op"))))
	}
}

// spread is a median with its range; empty where nothing was measured.
func spread(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s to %s)", figure(median(values)), figure(slices.Min(values)), figure(slices.Max(values)))
}

func micro(nanoseconds []float64) []float64 {
	values := make([]float64, len(nanoseconds))
	for i, value := range nanoseconds {
		values[i] = value / 1000
	}
	return values
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
