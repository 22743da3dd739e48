package models

import (
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

const (
	// FiguresCounter is raised by whoever changes a row of limit_figures.
	FiguresCounter = "figures"
	// SettingsCounter is raised by whoever changes a row of system_settings.
	SettingsCounter = "settings"
)

// RaiseCounter counts one more change under this name, within the transaction that makes it, and returns the new
// count. Processes that poll the counter hear of the change once the transaction has committed.
func RaiseCounter(tx *gorm.DB, name string) (int64, error) {
	var counter ChangeCounter
	raised := tx.Model(&counter).Clauses(clause.Returning{Columns: []clause.Column{{Name: "value"}}}).Where("name = ?", name).
		Update("value", gorm.Expr("value + 1"))
	if raised.Error == nil && raised.RowsAffected != 1 {
		return 0, fmt.Errorf("the counter of changes %q is missing", name)
	}
	return counter.Value, raised.Error
}
