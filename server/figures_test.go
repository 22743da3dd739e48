package server

import (
	"testing"

	"github.com/stenometer/stenometer/config"
	"github.com/stenometer/stenometer/limits"
)

// The table of figures has a row for every plan, and names variables that there are: a wrong one would make `server
// limits` say "default" of what the operator set.
func TestEveryPlansFigureNamesAVariable(t *testing.T) {
	t.Parallel()
	settings := make(map[string]bool)
	for _, setting := range config.Settings() {
		settings[setting.Name] = true
	}
	cfg, _, err := config.Load(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[*limits.Plan]int)
	for _, row := range figureTable(cfg) {
		rows[row.plan]++
		for _, variable := range []string{row.variable, row.twice} {
			if variable != "" && !settings[variable] {
				t.Errorf("%s: there is no variable %s", row.plan.Name, variable)
			}
		}
	}
	for _, plan := range limits.Plans() {
		if rows[plan] != 1 {
			t.Errorf("%s has %d rows", plan.Name, rows[plan])
		}
	}
}
