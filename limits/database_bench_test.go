package limits

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// databaseStack is a stack for the n-th of a thousand accounts: two limits as a read has, or four as a paid request.
func databaseStack(n, limits int) []Limit {
	rate := Rate{Limit: MaxFigure, Period: time.Minute}
	id := int64(n % 1000)
	return []Limit{
		{Plan: AccountProcess, Key: Key{Org: id, ID: id}, Rate: rate, Cost: 1},
		{Plan: TokenProcess, Key: Key{Org: id, ID: id}, Rate: rate, Cost: 1},
		{Plan: OrganizationAI, Key: Key{Org: id, ID: id}, Rate: rate, Cost: 1},
		{Plan: AddressAI, Key: Key{Addr: netip.AddrFrom4([4]byte{10, 0, byte(id >> 8), byte(id)})}, Rate: rate, Cost: 1},
	}[:limits]
}

func benchDatabase(b *testing.B, store databaseStore) {
	for _, size := range []int{2, 4} {
		b.Run(fmt.Sprintf("%d limits, serial", size), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if d, err := store.Take(b.Context(), databaseStack(i, size), nil); err != nil || !d.Admitted {
					b.Fatal(d, err)
				}
			}
		})
		b.Run(fmt.Sprintf("%d limits, 16 callers", size), func(b *testing.B) {
			var n atomic.Int64
			b.SetParallelism(8) // times GOMAXPROCS, which is 2 where the figures of the README were taken
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if d, err := store.Take(b.Context(), databaseStack(int(n.Add(1)), size), nil); err != nil || !d.Admitted {
						b.Error(d, err)
					}
				}
			})
		})
	}
}

func BenchmarkPostgres(b *testing.B) {
	store := openedPostgres(b, migratedPostgres(b), DatabaseOptions{Timeout: 10 * time.Second})
	b.Run("a round trip", func(b *testing.B) {
		for b.Loop() {
			if err := store.Ping(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	benchDatabase(b, store)
}

func BenchmarkSQLite(b *testing.B) {
	benchDatabase(b, openedSQLite(b, filepath.Join(b.TempDir(), "limits.db"), DatabaseOptions{Timeout: 10 * time.Second}))
}
