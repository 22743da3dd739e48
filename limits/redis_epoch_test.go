package limits

import (
	"slices"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/testservices"
)

func lost(t *testing.T, r *Redis) bool {
	t.Helper()
	lost, err := r.Epoch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return lost
}

// Each process notices a loss once, whichever of them looks first.
func TestEpochTellsEachProcessOnceThatCountsWereLost(t *testing.T) {
	t.Parallel()
	server := testservices.StoppableRedis(t)
	first := open(t, server.URL, RedisOptions{Prefix: "stn", Timeout: 10 * time.Second})
	second := open(t, server.URL, RedisOptions{Prefix: "stn", Timeout: 10 * time.Second})
	for name, lose := range map[string]func(){
		"nothing": func() {},
		"flushed": func() { server.Client().FlushAll(t.Context()) },
		"restarted": func() {
			server.Stop()
			server.Start()
		},
		"evicted": func() { server.Client().Del(t.Context(), "stn:epoch") },
	} {
		for _, r := range []*Redis{first, second, first, second} {
			_, _ = r.Epoch(t.Context())
		}
		lose()
		comesBack(t, first)
		comesBack(t, second)
		want := name != "nothing"
		if got := []bool{lost(t, first), lost(t, second), lost(t, first), lost(t, second)}; !slices.Equal(got, []bool{want, want, false, false}) {
			t.Errorf("%s: told %v", name, got)
		}
	}
}

func TestEpochOfAServerThatIsAwayIsAnError(t *testing.T) {
	t.Parallel()
	server := testservices.StoppableRedis(t)
	r := open(t, server.URL, RedisOptions{})
	server.Freeze()
	start := time.Now()
	if lost, err := r.Epoch(t.Context()); lost || !problems.Is(err, problems.LimitsUnavailable) || time.Since(start) > time.Second {
		t.Errorf("frozen: lost is %v, error %v after %v", lost, err, time.Since(start))
	}
	server.Thaw()
	if lost(t, r) {
		t.Error("the first look at a server tells of a loss")
	}
	server.Client().FlushAll(t.Context())
	server.Configure("maxmemory", "1") // it has forgotten and cannot be told
	if lost, err := r.Epoch(t.Context()); !lost || err == nil {
		t.Errorf("flushed and full: lost is %v, error %v", lost, err)
	}
	server.Configure("maxmemory", "0")
	if lost(t, r) {
		t.Error("a loss was told twice")
	}
}

func TestEpochOfAClusterIsWatchedAtEachMaster(t *testing.T) {
	t.Parallel()
	cluster := testservices.Cluster(t)
	r := open(t, cluster.URL, RedisOptions{Prefix: "stn", Timeout: 10 * time.Second})
	if lost(t, r) {
		t.Fatal("the first look tells of a loss")
	}
	for i, master := range cluster.Masters {
		if lost(t, r) {
			t.Errorf("before master %d was flushed: a loss", i)
		}
		master.Client().FlushAll(t.Context())
		if !lost(t, r) {
			t.Errorf("master %d was flushed, and nobody noticed", i)
		}
	}
	var slots []int64
	for _, key := range r.epochKeys() {
		slots = append(slots, cluster.Masters[0].Client().ClusterKeySlot(t.Context(), key).Val())
	}
	slices.Sort(slots)
	for i, slot := range append(slots, 16384) {
		if before := append([]int64{-1}, slots...)[i]; slot-before > 512 {
			t.Errorf("no epoch between the slots %d and %d", before, slot)
		}
	}
	cluster.Masters[0].Stop()
	if _, err := r.Epoch(t.Context()); err == nil {
		t.Error("a master is gone, and its epochs are not missed")
	}
}
