package testservices

import (
	"fmt"
	"runtime"
	"testing"
)

// recorder stands in for a test whose end is looked at.
type recorder struct {
	testing.TB
	end string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.end = "failed: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) {
	r.end = "skipped: " + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// endOf runs look as a test would and tells how that test ended.
func endOf(look func(testing.TB) string) string {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.end = "went on: " + look(r)
	}()
	<-done
	return r.end
}

func TestMissingServiceSkipsAtHomeAndFailsInCI(t *testing.T) {
	for _, service := range []struct {
		variable string
		look     func(testing.TB) string
		name     string
	}{
		{"STENOMETER_TEST_POSTGRES", Postgres, "PostgreSQL"},
		{"STENOMETER_TEST_REDIS", Redis, "Redis"},
	} {
		t.Run(service.name, func(t *testing.T) {
			t.Setenv(service.variable, "")
			t.Setenv("CI", "")
			want := "skipped: needs " + service.name + ": " + service.variable + " is not set; run it by scripts/with-services"
			if got := endOf(service.look); got != want {
				t.Errorf("at home: %q, want %q", got, want)
			}
			t.Setenv("CI", "true")
			want = "failed: " + service.variable + " is not set, and CI skips no test: run it by scripts/with-services"
			if got := endOf(service.look); got != want {
				t.Errorf("in CI: %q, want %q", got, want)
			}
			t.Setenv(service.variable, "scheme://somewhere")
			if got, want := endOf(service.look), "went on: scheme://somewhere"; got != want {
				t.Errorf("with the service: %q, want %q", got, want)
			}
		})
	}
}
