package limits

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The storage keeps counters by subject and bucket, and answers name plans: two plans that share either would be one
// limit in somebody's eyes.
func TestPlansAreApart(t *testing.T) {
	t.Parallel()
	names, counters := map[string]bool{}, map[string]bool{}
	for _, plan := range Plans() {
		counter := Limit{Plan: plan}.String()
		if names[plan.Name] || counters[counter] {
			t.Errorf("%s: another plan has its name or its counter %s", plan.Name, counter)
		}
		names[plan.Name], counters[counter] = true, true
	}
}

func TestPlansAreWhole(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^[a-z][a-z_]*[a-z]$`)
	for _, plan := range Plans() {
		// Names and buckets stand in headers and in keys without any escape.
		if !name.MatchString(plan.Name) || !name.MatchString(plan.Bucket) {
			t.Errorf("%s: name or bucket %q is not plain", plan.Name, plan.Bucket)
		}
		if plan.Kind.Status() != http.StatusTooManyRequests {
			t.Errorf("%s: a refusal answers %d", plan.Name, plan.Kind.Status())
		}
		if !strings.HasSuffix(plan.Meaning, ".") {
			t.Errorf("%s: no sentence for the user guide", plan.Name)
		}
		if plan.Subject.String() == "nobody" {
			t.Errorf("%s counts nobody", plan.Name)
		}
	}
}
