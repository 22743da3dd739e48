package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/store/memory"
	storeredis "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/stenometer/stenometer/bench/answer"
)

// neverBinds is a figure that no run reaches.
const neverBinds = 1_000_000_000

// bare is Echo with one route and no middleware.
func bare(s settings) *echo.Echo {
	e := echo.New()
	e.GET(answer.Path, func(c echo.Context) error { return c.JSON(http.StatusOK, s.answer) })
	return e
}

// caller is what ulule's middlewares key by.
type caller struct{ token, account string }

const callerKey = "caller"

// ululeTwice is what one would write with ulule/limiter: find the caller, then one middleware for each limit, as the
// library's own example for Echo has it.
func ululeTwice(s settings, inRedis bool) (*echo.Echo, error) {
	known, err := readCallers(s.tokens)
	if err != nil {
		return nil, err
	}
	var store limiter.Store = memory.NewStore()
	if inRedis {
		store, err = storeredis.NewStore(redis.NewClient(&redis.Options{Addr: s.redis}))
		if err != nil {
			return nil, fmt.Errorf("opening ulule's store: %w", err)
		}
	}
	e := bare(s)
	e.Use(
		authenticate(known),
		limited(store, func(c caller) string { return c.account }),
		limited(store, func(c caller) string { return c.token }),
	)
	return e, nil
}

// authenticate finds the caller by the SHA-256 of the token, in memory: no look-up is charged to the peer.
func authenticate(known map[[sha256.Size]byte]caller) echo.MiddlewareFunc {
	var mu sync.RWMutex
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			token, ok := strings.CutPrefix(c.Request().Header.Get("Authorization"), "Bearer ")
			if !ok {
				return echo.ErrUnauthorized
			}
			hash := sha256.Sum256([]byte(token))
			mu.RLock()
			who, ok := known[hash]
			mu.RUnlock()
			if !ok {
				return echo.ErrUnauthorized
			}
			c.Set(callerKey, who)
			return next(c)
		}
	}
}

// limited is one limit as a middleware.
func limited(store limiter.Store, key func(caller) string) echo.MiddlewareFunc {
	instance := limiter.New(store, limiter.Rate{Period: time.Minute, Limit: neverBinds})
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			who, _ := c.Get(callerKey).(caller)
			context, err := instance.Get(c.Request().Context(), key(who))
			if err != nil {
				return err
			}
			h := c.Response().Header()
			h.Set("X-RateLimit-Limit", strconv.FormatInt(context.Limit, 10))
			h.Set("X-RateLimit-Remaining", strconv.FormatInt(context.Remaining, 10))
			h.Set("X-RateLimit-Reset", strconv.FormatInt(context.Reset, 10))
			if context.Reached {
				return echo.ErrTooManyRequests
			}
			return next(c)
		}
	}
}

// readCallers reads the file of tokens.
func readCallers(path string) (map[[sha256.Size]byte]caller, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	defer file.Close()
	known := make(map[[sha256.Size]byte]caller)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		account, token, _ := strings.Cut(lines.Text(), " ")
		number := strconv.Itoa(len(known) + 1)
		known[sha256.Sum256([]byte(token))] = caller{token: "token:" + number, account: "account:" + account}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	return known, nil
}
