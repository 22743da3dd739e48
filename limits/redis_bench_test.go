package limits

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/testservices"
)

// processStack is the stack of a process request, or the first limits of it, of one of so many accounts.
func processStack(n, account int, period time.Duration) []Limit {
	rate := Rate{Limit: MaxFigure, Period: period}
	key := func(id int) Key { return Key{Org: int64(account), ID: int64(id + account)} }
	return []Limit{
		{Plan: AccountProcess, Key: key(5), Rate: rate, Cost: 1},
		{Plan: TokenProcess, Key: key(17), Rate: rate, Cost: 1},
		{Plan: OrganizationAI, Key: key(3), Rate: rate, Cost: 1},
		{Plan: AddressAI, Key: Key{Addr: netip.AddrFrom4([4]byte{203, 0, byte(account >> 8), byte(account)})}, Rate: rate, Cost: 1},
	}[:n]
}

// BenchmarkRedis compares a decision with an unpipelined PING by the same client. The two take turns, so that a busy
// machine hurts both; the figures are medians of rounds: ns/op of the decision, x/ping of that and of the CPU time that
// both processes spend. In a window of a day few quanta are live; in one of two seconds, hammered for longer than
// that, every one is.
func BenchmarkRedis(b *testing.B) {
	r := open(b, testservices.OwnRedis(b), RedisOptions{Timeout: 10 * time.Second})
	ping := func(int) error { return r.client.Ping(b.Context()).Err() }
	for _, c := range []struct {
		name     string
		limits   int
		period   time.Duration
		accounts int
	}{
		{"few-quanta", 2, 24 * time.Hour, 1000},
		{"few-quanta", 4, 24 * time.Hour, 1000},
		{"all-quanta", 2, 2 * time.Second, 1},
		{"all-quanta", 4, 2 * time.Second, 1},
	} {
		take := func(i int) error {
			var room [4]State
			_, err := r.Take(b.Context(), processStack(c.limits, i%c.accounts, c.period), room[:])
			return err
		}
		for _, callers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/limits-%d/callers-%d", c.name, c.limits, callers), func(b *testing.B) {
				for end := time.Now().Add(2 * c.period); c.accounts == 1 && time.Now().Before(end); {
					burst(b, r, callers, take)
				}
				var pings, takes spent
				for b.Loop() {
					pings.add(burst(b, r, callers, ping))
					takes.add(burst(b, r, callers, take))
				}
				wall, cpu := takes.medians()
				pingWall, pingCPU := pings.medians()
				b.ReportMetric(wall, "ns/op")
				b.ReportMetric(wall/pingWall, "x/ping")
				b.ReportMetric(cpu, "cpu-ns/op")
				b.ReportMetric(cpu/pingCPU, "cpu-x/ping")
			})
		}
	}
}

// spent is what rounds took by the wall and of both processes' CPUs, in nanoseconds an operation.
type spent struct{ wall, cpu []float64 }

func (s *spent) add(wall, cpu float64) { s.wall, s.cpu = append(s.wall, wall), append(s.cpu, cpu) }

func (s *spent) medians() (wall, cpu float64) {
	slices.Sort(s.wall)
	slices.Sort(s.cpu)
	return s.wall[len(s.wall)/2], s.cpu[len(s.cpu)/2]
}

// burst lets so many callers do something, 512 times in all.
func burst(b *testing.B, r *Redis, callers int, do func(int) error) (wall, cpu float64) {
	b.Helper()
	const times = 512
	before, start := cpuOf(b, r), time.Now()
	var group sync.WaitGroup
	for caller := range callers {
		group.Go(func() {
			for i := range times / callers {
				if err := do(i*callers + caller); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	took := time.Since(start)
	return float64(took) / times, float64(cpuOf(b, r)-before) / times
}

// cpuOf is the time that this process and Redis have spent.
func cpuOf(b *testing.B, r *Redis) time.Duration {
	b.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		b.Fatal(err)
	}
	info := r.client.InfoMap(b.Context(), "cpu").Item("CPU", "used_cpu_user") + " " + r.client.InfoMap(b.Context(), "cpu").Item("CPU", "used_cpu_sys")
	var user, system float64
	if _, err := fmt.Sscan(info, &user, &system); err != nil {
		b.Fatalf("%q: %v", info, err)
	}
	return time.Duration(own.Utime.Nano()+own.Stime.Nano()) + time.Duration((user+system)*1e9)
}
