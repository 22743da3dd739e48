package tests

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stenometer/stenometer/tests/servertest"
)

// prefix is the n-th of so many IPv6 networks of 64 bits.
func prefix(n int64) string {
	var address [16]byte
	binary.BigEndian.PutUint64(address[:8], 0x2001_0db8_0000_0000+uint64(n))
	address[15] = 1
	return netip.AddrFrom16(address).String()
}

// Rule: a flood from many networks costs newcomers nothing, and whoever is over its limit stays refused meanwhile
// (H-027). That the counters are forgotten is tested where they are, and below.
func TestAFloodOfAddressesLetsNobodyThrough(t *testing.T) {
	t.Parallel()
	flood(t, 10_000)
}

// Rule: idle counters are forgotten. After half a million networks the memory returns near where it began.
func TestSoakAFloodOfHalfAMillionAddressesIsForgotten(t *testing.T) {
	if !servertest.Soak() {
		t.Skip("takes minutes; make soak runs it")
	}
	process, before, peak := flood(t, 500_000)
	servertest.Eventually(t, 5*time.Minute, "the memory returns near where it began", func() bool {
		return residentMemory(t, process) < before+(peak-before)/3
	})
	t.Logf("%d MiB before, %d at the peak, %d after", before>>20, peak>>20, residentMemory(t, process)>>20)
}

// flood asks once from each of so many networks, and tells what the process had in memory before and after.
func flood(t *testing.T, addresses int64) (process *servertest.Process, before, peak int64) {
	t.Helper()
	environment := quiet(t).With(servertest.Environment{
		"TRUSTED_PROXY_COUNT": "1", "AUTH_FAILURE_RATE_LIMIT": "5 per 10 seconds",
		"RATELIMIT_SWEEP_SECONDS": "1",
	})
	process = servertest.Launch(t, servertest.PlainBinary(t), environment, "serve")
	process.AwaitReady()
	from := func(client *servertest.Client, address string) int {
		answer, err := client.Do(http.MethodGet, "/api/v1/recordings", nil, http.Header{"X-Forwarded-For": {address}})
		if err != nil {
			t.Error(err)
		}
		return answer.Status
	}
	known := process.Client("")
	for range 50 { // warms up
		from(known, "192.0.2.1")
	}
	before = residentMemory(t, process)

	var next, refused atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		client := process.Client("")
		callers.Go(func() {
			for n := next.Add(1); n <= addresses; n = next.Add(1) {
				if from(client, prefix(n)) != http.StatusUnauthorized {
					refused.Add(1)
				}
			}
		})
	}
	over := asOneOverItsLimit(t, process.Client(""), func() bool { return next.Load() > addresses })
	callers.Wait()
	expectNeverMore(t, "an address over its limit", over, 5, 10*time.Second)
	if refused.Load() > 0 {
		t.Errorf("%d of %d newcomers were not answered 401", refused.Load(), addresses)
	}
	return process, before, residentMemory(t, process)
}

// asOneOverItsLimit asks again and again from one address, and notes which answers were 401 rather than 429.
func asOneOverItsLimit(t *testing.T, client *servertest.Client, done func() bool) []sent {
	t.Helper()
	client.Header.Set("X-Forwarded-For", "203.0.113.7")
	var log []sent
	for ; !done(); <-time.After(20 * time.Millisecond) {
		s := sent{from: time.Now(), answer: client.Get("/api/v1/recordings")}
		s.to, s.admitted = time.Now(), s.answer.Status == http.StatusUnauthorized
		log = append(log, s)
	}
	if len(log) < 6 {
		t.Errorf("only %d requests came from one address during the flood", len(log))
	}
	return log
}

// residentMemory is what the process has in memory now, in bytes.
func residentMemory(t *testing.T, process *servertest.Process) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
