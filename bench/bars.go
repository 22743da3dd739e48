package main

import (
	"fmt"
	"math"
	"slices"
)

// bar is a figure that the design demands, and what was measured for it in each round.
type bar struct {
	what string
	// most or least is demanded, or none at all of the thing; the others are zero. Where all are, the figure is shown
	// and nothing is demanded.
	most, least float64
	none        bool
	unit        string
	values      []float64
}

// wanted is what is demanded, in words.
func (b bar) wanted() string {
	switch {
	case b.none:
		return "none"
	case b.most != 0:
		return "at most " + figure(b.most) + b.unit
	case b.least != 0:
		return "at least " + figure(b.least) + b.unit
	}
	return ""
}

// met judges the median.
func (b bar) met() string {
	value := median(b.values)
	switch {
	case math.IsNaN(value):
		return "not run"
	case b.most == 0 && b.least == 0 && !b.none:
		return ""
	case b.none && value == 0, b.most != 0 && value <= b.most, b.least != 0 && value >= b.least:
		return "yes"
	}
	return "**no**"
}

func (b bar) measured() string {
	if len(b.values) == 0 {
		return ""
	}
	return fmt.Sprintf("%s%s (%s to %s)", figure(median(b.values)), b.unit, figure(slices.Min(b.values)), figure(slices.Max(b.values)))
}

// figure has three digits that tell something, and no more.
func figure(value float64) string {
	switch size := math.Abs(value); {
	case size >= 100 || value == math.Trunc(value):
		return fmt.Sprintf("%.0f", value)
	case size >= 10:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.2f", value)
}

// bars are all demands, those of parts that did not run included, so that none is forgotten.
func (r *results) bars() []bar {
	return slices.Concat(r.httpBars(), r.memoryBars(), r.redisBars(), r.listBars(), r.streamBars(), r.webhookBars())
}

func (r *results) httpBars() []bar {
	ratio := func(over, under string) []float64 { return ratios(r.cpu(over), r.cpu(under)) }
	return []bar{
		{what: "server in memory / its own chain without the guard", most: 1.2, values: ratio(ours, chain)},
		{what: "server with Redis / its own chain without the guard", most: 2.0, values: ratio(oursRedis, chain)},
		{what: "chain / bare Echo", most: 1.35, values: ratio(chain, bareEcho)},
		{what: "chain without the access log / bare Echo", values: ratio(chainQuiet, bareEcho)},
		{what: "Flask without the commit / server, memory", least: 40, values: ratio(flask, ours)},
		{what: "Flask with the commit / server, memory", least: 100, values: ratio(flaskCommit, ours)},
		{what: "Flask without the commit / server, Redis", values: ratio(flaskRedis, oursRedis)},
		{what: "Flask with the commit / server, Redis", values: ratio(flaskCommitRedis, oursRedis)},
		{what: "server / Echo with two ulule middlewares, memory", values: ratio(ours, ulule)},
		{what: "server / Echo with two ulule middlewares, Redis", values: ratio(oursRedis, ululeRedis)},
	}
}

func (r *results) memoryBars() []bar {
	at := func(name string, keys int, how string) []float64 {
		return r.memory.values(fmt.Sprintf("Memory/%s/keys=%d/%s", name, keys, how), "ns/op")
	}
	const million = 1_000_000
	weight := func(requests int) []float64 {
		for _, f := range r.footprints {
			if f.store == "ours" && f.requests == requests {
				return []float64{f.resident}
			}
		}
		return nil
	}
	return []bar{
		{what: "two limits in memory, one key, a clock that stands still", most: 150, unit: " ns", values: r.memory.values("Clock/ours_2_still", "ns/op")},
		{what: "the same by the clock, less one reading of it", unit: " ns", values: differences(at("ours_2", 1, "serial"), r.memory.values("Clock/time.Now", "ns/op"))},
		{what: "allocations of that decision", none: true, values: r.memory.values("Memory/ours_2/keys=1/serial", "allocs/op")},
		{what: "two limits / two ulule decisions, 1,000,000 keys, serial", most: 0.25, values: ratios(at("ours_2", million, "serial"), at("ulule_2", million, "serial"))},
		{what: "two limits / two ulule decisions, 1,000,000 keys, parallel", most: 1.0 / 3, values: ratios(at("ours_2", million, "parallel"), at("ulule_2", million, "parallel"))},
		{what: "bytes of a lightly used key (resident)", most: 120, unit: " B", values: weight(1)},
		{what: "bytes of a full 5000-per-day key (resident)", most: 1536, unit: " B", values: weight(5000)},
	}
}

func (r *results) redisBars() []bar {
	ratio := func(name, ping string, callers int) []float64 {
		at := func(name string) []float64 {
			return r.redis.values(fmt.Sprintf("Redis/%s/callers=%d", name, callers), "ns/op")
		}
		return ratios(at(name), at(ping))
	}
	const same, plain = "ping_of_ours", "ping"
	return []bar{
		{what: "two limits in Redis / PING by the same client, serial", most: 1.5, values: ratio("ours_2", same, 1)},
		{what: "four limits in Redis / PING by the same client, serial", most: 2.0, values: ratio("ours_4", same, 1)},
		{what: "two limits in Redis / PING by the same client, 16 callers", most: 2.0, values: ratio("ours_2", same, 16)},
		{what: "four limits in Redis / PING by the same client, 16 callers", most: 2.5, values: ratio("ours_4", same, 16)},
		{what: "two limits, every quantum live / PING, serial", values: ratio("ours_2_full", same, 1)},
		{what: "four limits, every quantum live / PING, serial", values: ratio("ours_4_full", same, 1)},
		{what: "two limits, every quantum live / PING, 16 callers", values: ratio("ours_2_full", same, 16)},
		{what: "four limits, every quantum live / PING, 16 callers", values: ratio("ours_4_full", same, 16)},
		{what: "two limits / PING by go-redis as it comes, serial", values: ratio("ours_2", plain, 1)},
		{what: "two limits / PING by go-redis as it comes, 16 callers", values: ratio("ours_2", plain, 16)},
		{what: "two limits / two ulule decisions in Redis, serial", values: ratio("ours_2", "ulule_2", 1)},
		{what: "two limits / two redis_rate decisions, serial", values: ratio("ours_2", "redis_rate_2", 1)},
	}
}
