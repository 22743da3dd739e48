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

// Rule: a bounded number of counters, and idle ones are forgotten. A flood from many networks does not stay in memory,
// and whoever is over its limit stays refused meanwhile (H-027).
func TestAFloodOfAddressesIsForgotten(t *testing.T) { flood(t, 20_000) }

// Rule: the same for half a million networks.
func TestSoakAFloodOfHalfAMillionAddressesIsForgotten(t *testing.T) {
	if !servertest.Soak() {
		t.Skip("takes minutes; make soak runs it")
	}
	flood(t, 500_000)
}

func flood(t *testing.T, addresses int64) {
	t.Helper()
	environment := quiet(t).With(servertest.Environment{
		"TRUSTED_PROXY_COUNT": "1", "AUTH_FAILURE_RATE_LIMIT": "5 per 10 seconds",
		"RATELIMIT_SWEEP_SECONDS": "1",
	})
	process := servertest.Launch(t, servertest.PlainBinary(t), environment, "serve")
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
	before := residentMemory(t, process)

	var next, refused atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		client := process.Client("")
		callers.Go(func() {
			for n := next.Add(1); n <= addresses; n = next.Add(1) {
				if from(client, prefix(n)) != http.StatusUnauthorized {
					refused.Add(1)
				}
				if n%1000 == 0 && over(from, client) {
					t.Error("an address over its limit was let in during the flood")
				}
			}
		})
	}
	callers.Wait()
	if refused.Load() > 0 {
		t.Errorf("%d of %d newcomers were not answered 401", refused.Load(), addresses)
	}
	peak := residentMemory(t, process)
	servertest.Eventually(t, 4*time.Minute, "the memory returns near where it began", func() bool {
		return residentMemory(t, process) < before+(peak-before)/4+(24<<20)
	})
	t.Logf("%d addresses: %d MiB before, %d at the peak, %d after", addresses, before>>20, peak>>20, residentMemory(t, process)>>20)
}

// over asks as an address that has used up its answers 401, and reports whether it got another.
func over(from func(*servertest.Client, string) int, client *servertest.Client) bool {
	for range 5 {
		from(client, "203.0.113.7")
	}
	return from(client, "203.0.113.7") == http.StatusUnauthorized
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
