package limits

import (
	"context"
	"crypto/rand"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/stenometer/stenometer/tests/testservices"
)

// The rules of windows are written twice, in window.go and in take.lua. TestScriptDecidesAsMemoryDoes gives both the
// same requests by the same clock, which steps back at times, and wants the same numbers from both. The script's
// clock is replaced by its last arguments; nothing else of it is changed.
func TestScriptDecidesAsMemoryDoes(t *testing.T) {
	t.Parallel()
	script, client := scriptByOurClock(takeSource), testClient(t)
	rapid.Check(t, func(t *rapid.T) {
		prefix := "test-" + rand.Text() + ":"
		period := rapid.SampledFrom([]time.Duration{time.Minute, 7 * time.Minute, 24 * time.Hour, coarseFrom, MaxWindow}).Draw(t, "period")
		now := time.Unix(1790000000, 0)
		windows := map[string]*twin{}
		answer := []int64{0}
		for range rapid.IntRange(1, 60).Draw(t, "arrivals") {
			now = now.Add(drawMoment(period, answer).Draw(t, "pause").Truncate(time.Microsecond))
			if rapid.IntRange(0, 20).Draw(t, "step") == 0 {
				now = now.Add(-time.Duration(rapid.Int64Range(0, int64(2*period)).Draw(t, "back")).Truncate(time.Microsecond))
			}
			mode := rapid.SampledFrom([]string{"take", "take", "take", "judge", "peek"}).Draw(t, "mode")
			stack := drawStack(t, period)
			want := expected(mode, stack, windows, now)
			got, err := runScript(client, script, prefix, mode, stack, now)
			if err != nil {
				t.Fatal(err)
			}
			if got[1] != now.UnixMicro() {
				t.Fatalf("the script's clock shows %d, want %d", got[1], now.UnixMicro())
			}
			got = append(got[:1], got[2:]...)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%s of %v: number %d is %d in Redis, %d in memory", mode, stack, i, got[i], want[i])
				}
			}
			checkKeys(t, client, prefix, stack, windows)
			answer = got
		}
	})
}

// scriptByOurClock reads the clock from its last two arguments.
func scriptByOurClock(source string) *redis.Script {
	return redis.NewScript(strings.Replace(source, "redis.call('TIME')", "{ARGV[#ARGV - 1], ARGV[#ARGV]}", 1))
}

// A counter that is never empty outlives what 32 bits hold of its stamps. Its base moves on, and its numbers stay right.
func TestScriptCountsOnWhenStampsNoLongerFit(t *testing.T) {
	t.Parallel()
	script, client := scriptByOurClock(takeSource), testClient(t)
	for _, period := range []time.Duration{coarseFrom, MaxWindow} {
		prefix := "test-" + rand.Text() + ":"
		stack := []Limit{{Plan: TokenRead, Key: Key{Org: 1, ID: 1}, Rate: Rate{Limit: 40, Period: period}, Cost: 3}}
		windows := map[string]*twin{}
		now := time.Unix(1790000000, 0)
		first := now
		for now.Sub(first) < 3<<32*tickOf(period) {
			want := expected(modeTake, stack, windows, now)
			got, err := runScript(client, script, prefix, modeTake, stack, now)
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got[:1], got[2:]...); !slices.Equal(got, want) || got[0] != 1 {
				t.Fatalf("after %v: %v in Redis, %v in memory", now.Sub(first), got, want)
			}
			now = now.Add(period/9 + 7*time.Millisecond)
		}
	}
}

// drawMoment is any pause, or one that ends when the last answer says that something leaves, or just before.
func drawMoment(period time.Duration, answer []int64) *rapid.Generator[time.Duration] {
	told := rapid.Custom(func(t *rapid.T) time.Duration {
		i := rapid.IntRange(0, len(answer)-1).Draw(t, "number")
		early := rapid.Int64Range(0, 1).Draw(t, "early")
		return time.Duration(max(0, answer[i]-early)) * time.Microsecond
	})
	return rapid.OneOf(drawPause(period), told)
}

// twin is what window.go makes of a key, and how long the key must live since it was last written.
type twin struct {
	window
	lives time.Duration
}

// of is the log of a key, nil before anything was counted.
func of(windows map[string]*twin, key string) *window {
	if windows[key] == nil {
		return nil
	}
	return &windows[key].window
}

func testClient(t *testing.T) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(testservices.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

func drawStack(t *rapid.T, period time.Duration) []Limit {
	stack := make([]Limit, rapid.IntRange(1, 3).Draw(t, "limits"))
	for i := range stack {
		stack[i] = Limit{
			Plan: TokenRead,
			Key:  Key{Org: 1, ID: rapid.Int64Range(1, 3).Draw(t, "token")},
			Rate: Rate{Limit: rapid.Int64Range(1, 40).Draw(t, "figure"), Period: period},
			Cost: rapid.Int64Range(1, 12).Draw(t, "cost"),
		}
	}
	return stack
}

// expected is what the script must answer, by window.go.
func expected(mode string, stack []Limit, windows map[string]*twin, now time.Time) []int64 {
	m := momentOf(now.UnixNano(), spanOf(stack[0].Rate.Period))
	waits := make([]time.Duration, len(stack))
	answer := []int64{1}
	for i := range stack {
		if mode != "peek" {
			waits[i] = waitFor(&stack[i], of(windows, stack[i].String()), &m)
		}
		if waits[i] != 0 {
			answer[0] = 0
		}
	}
	charged := map[string]bool{}
	for i := range stack {
		key := stack[i].String()
		if mode == "take" && answer[0] == 1 && !charged[key] {
			if windows[key] == nil {
				windows[key] = &twin{}
			}
			windows[key].charge(&m, stack[i].Cost)
			windows[key].lives = windows[key].whole(&m)
			charged[key] = true
		}
	}
	for i := range stack {
		st := standOf(&stack[i], of(windows, stack[i].String()), &m, waits[i])
		wait := st.wait.Microseconds()
		if st.wait < 0 {
			wait = -1
		}
		answer = append(answer, st.used, wait, st.next.Microseconds(), st.whole.Microseconds())
	}
	return answer
}

func scriptKey(prefix string, l *Limit) string { return prefix + "{org:1}:" + l.String() + ":60" }

func runScript(client *redis.Client, script *redis.Script, prefix, mode string, stack []Limit, now time.Time) ([]int64, error) {
	var keys []string
	var numbers []byte
	for i := range stack {
		s := spanOf(stack[i].Rate.Period)
		keys = append(keys, scriptKey(prefix, &stack[i]))
		numbers = appendNumbers(numbers, stack[i].Rate.Limit, s.length, s.quantum, s.tick/int64(time.Microsecond), stack[i].Cost)
	}
	numbers = appendNumbers(numbers, math.MaxInt32) // room for all
	clock := []any{strconv.FormatInt(now.Unix(), 10), strconv.FormatInt(int64(now.Nanosecond()/1000), 10)}
	return verdictIn(script.Run(context.Background(), client, keys, append([]any{mode, numbers}, clock...)...).Text())
}

// checkKeys: a key lives until the newest stamp has left by the clock at its writing, also when the clock had stepped
// back, and a counter is small. The minute is for the time that the test itself takes.
func checkKeys(t *rapid.T, client *redis.Client, prefix string, stack []Limit, windows map[string]*twin) {
	for i := range stack {
		w := windows[stack[i].String()]
		if w == nil {
			continue
		}
		key := scriptKey(prefix, &stack[i])
		if left := client.PTTL(context.Background(), key).Val(); left < w.lives-time.Minute {
			t.Fatalf("a key that must live for %v vanishes in %v", w.lives, left)
		}
		if size := client.StrLen(context.Background(), key).Val(); size > 13+8*(resolution+1) {
			t.Fatalf("a counter takes %d bytes", size)
		}
	}
}
