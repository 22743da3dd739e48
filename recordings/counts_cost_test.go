package recordings_test

import (
	"encoding/json"
	"testing"

	"github.com/stenometer/stenometer/models"
)

// What an update of many recordings costs for their counts grows with their number, not with its square: a tag that is
// deleted, or a migration, changes thousands in one statement. It is held against the update itself, whose indexes
// cost more than any sum, so that the machine's speed does not matter.
func TestCountingCostsLessThanTheUpdate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		if r.db.Dialect == models.SQLite {
			return // row by row: linear by its nature
		}
		r.crowd(r.user)
		var text string
		err := r.db.Read.Raw("EXPLAIN (ANALYZE, FORMAT JSON) UPDATE recordings SET updated_at = ? WHERE user_id = ?", day(5), r.user.ID).
			Scan(&text).Error
		if err != nil {
			t.Fatal(err)
		}
		var plans []struct {
			Time     float64 `json:"Execution Time"`
			Triggers []struct {
				Name string `json:"Trigger Name"`
				Time float64
			}
		}
		if err := json.Unmarshal([]byte(text), &plans); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		counting := 0.0
		for _, trigger := range plans[0].Triggers {
			if trigger.Name == "recordings_counted_over" {
				counting = trigger.Time
			}
		}
		if rest := plans[0].Time - counting; counting == 0 || counting > rest {
			t.Errorf("counting took %.0f ms, the update of %d recordings besides %.0f ms", counting, manyRows, rest)
		}
	})
}
