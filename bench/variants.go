package main

import (
	"fmt"
	"slices"
	"strings"
)

// launch is how a server is started.
type launch struct {
	program     string
	arguments   []string
	folder      string
	environment []string
}

// The names of the variants.
const (
	ours             = "ours"
	oursRedis        = "ours-redis"
	chain            = "chain"
	chainQuiet       = "chain-quiet"
	bareEcho         = "bare"
	ulule            = "ulule"
	ululeRedis       = "ulule-redis"
	flask            = "flask"
	flaskRedis       = "flask-redis"
	flaskCommit      = "flask-commit"
	flaskCommitRedis = "flask-commit-redis"
)

// variant is one server of the comparison.
type variant struct {
	name string
	// about is its row in the results.
	about string
	// inRedis variants count in Redis.
	inRedis bool
	// exact answers are the product's to the byte; others hold the same JSON.
	exact bool
	// commits variants wait for a disk at every request.
	commits bool
	// on is how it is started, to listen on the address.
	on func(address string) launch
}

// variants lists all of them in the order of the results.
func (b *bench) variants() []variant {
	gunicorn := func(storage string, commit bool) func(string) launch { return b.flask(storage, commit) }
	return []variant{
		{ours, "the product, counts in memory", false, true, false, b.product("memory://")},
		{oursRedis, "the product, counts in Redis", true, true, false, b.product(b.redisURL())},
		{chain, "its every-request chain, without the guard", false, true, false, b.peer("chain")},
		{chainQuiet, "the same without the access log", false, true, false, b.peer("chain", "-quiet")},
		{bareEcho, "Echo as it comes", false, true, false, b.peer("bare")},
		{ulule, "Echo, two ulule/limiter middlewares, memory", false, true, false, b.peer("ulule")},
		{ululeRedis, "Echo, two ulule/limiter middlewares, Redis", true, true, false, b.peer("ulule-redis", "-redis", b.redis.address)},
		{flask, "Flask, Flask-Limiter, memory", false, false, false, gunicorn("memory://", false)},
		{flaskRedis, "Flask, Flask-Limiter, Redis", true, false, false, gunicorn(b.redisURL(), false)},
		{flaskCommit, "Flask with last_used committed, memory", false, false, true, gunicorn("memory://", true)},
		{flaskCommitRedis, "Flask with last_used committed, Redis", true, false, true, gunicorn(b.redisURL(), true)},
	}
}

// chosen are the variants that a plan names.
func (b *bench) chosen(p plan) ([]variant, error) {
	all := b.variants()
	if len(p.only) == 0 {
		return all, nil
	}
	var some []variant
	for _, name := range p.only {
		i := slices.IndexFunc(all, func(v variant) bool { return v.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no variant %q", name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

func (b *bench) redisURL() string { return "redis://" + b.redis.address + "/0" }

// settings are the product's, with limits that are too high to bind.
func (b *bench) settings(storage, address string) []string {
	const high = "1000000000 per minute"
	return []string{
		"LISTEN_ADDR=" + address, "DATA_DIR=" + b.dataFolder(), "TRUSTED_PROXY_COUNT=0",
		"RATELIMIT_STORAGE_URI=" + storage, "API_SEARCH_RATE_LIMIT=" + high,
		"API_TOKEN_RATE_LIMIT_READ=" + high, "API_USER_RATE_LIMIT_READ=" + high,
	}
}

// product is the server that make has built, as it is deployed: all roles, the access log on.
func (b *bench) product(storage string) func(string) launch {
	return func(address string) launch {
		return launch{program: b.server, arguments: []string{"serve"}, folder: b.work, environment: b.settings(storage, address)}
	}
}

// onPostgres is the product with its database elsewhere.
func (b *bench) onPostgres(url string) func(string) launch {
	return func(address string) launch {
		started := b.product("memory://")(address)
		started.environment = append(started.environment, "DATABASE_URL="+url, "SECRET_KEY="+strings.Repeat("k", 43)+"=")
		return started
	}
}

// garbage is how often peers in Go collect it: as often as the product while little lives, which sets this for itself (server/garbage.go).
const garbage = "GOGC=400"

func (b *bench) peer(mode string, more ...string) func(string) launch {
	return func(address string) launch {
		arguments := append([]string{"-mode", mode, "-listen", address, "-answer", b.answerFile(), "-tokens", b.tokensFile()}, more...)
		return launch{program: b.peers, arguments: arguments, folder: b.work, environment: append(b.settings("memory://", address), garbage)}
	}
}

// workers is what a small installation runs, and Speakr's own image.
const workers = "3"

func (b *bench) flask(storage string, commit bool) func(string) launch {
	return func(address string) launch {
		environment := append(b.flaskEnvironment(), "STORAGE="+storage)
		if commit {
			environment = append(environment, "COMMIT_LAST_USED=1")
		}
		return launch{
			program: b.python, arguments: []string{"-m", "gunicorn", "-w", workers, "-b", address, "app:app"},
			folder: b.flaskFolder(), environment: environment,
		}
	}
}

func (b *bench) flaskEnvironment() []string {
	return []string{
		"DB=" + b.flaskDatabase(), "TOKENS=" + b.tokensFile(), "ANSWER=" + b.answerFile(), "PYTHONDONTWRITEBYTECODE=1",
	}
}
