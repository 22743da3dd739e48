// Package testservices tells tests where the real PostgreSQL and Redis are that scripts/with-services started, and
// starts a Redis for a test that must have one alone. Where the services are missing a test is skipped on a
// developer's machine and fails in CI, where a skip would be a proof that nobody ran.
package testservices

import (
	"os"
	"testing"
)

// Postgres is the URL of a database whose user may create databases; a test makes one of its own from there.
func Postgres(t testing.TB) string {
	t.Helper()
	return fromEnvironment(t, "STENOMETER_TEST_POSTGRES", "PostgreSQL")
}

// Redis is the URL of a Redis server that all tests share: keys of one test must not be those of another.
func Redis(t testing.TB) string {
	t.Helper()
	return fromEnvironment(t, "STENOMETER_TEST_REDIS", "Redis")
}

func fromEnvironment(t testing.TB, variable, service string) string {
	t.Helper()
	if url := os.Getenv(variable); url != "" {
		return url
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not set, and CI skips no test: run it by scripts/with-services", variable)
	}
	t.Skipf("needs %s: %s is not set; run it by scripts/with-services", service, variable)
	return ""
}
