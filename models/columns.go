package models

import (
	"fmt"
	"strings"

	"gorm.io/gorm"
)

// Columns names every column of a row's table, for a SELECT that asks for more beside them. In place of a star: what that
// stands for changes with the next version's migration, and PostgreSQL refuses what was prepared before.
func Columns(db *gorm.DB, row any) string {
	statement := &gorm.Statement{DB: db}
	if err := statement.Parse(row); err != nil {
		panic(fmt.Sprintf("name the columns of %T: %v", row, err)) // a row of ours: each is read by the tests
	}
	named := make([]string, len(statement.Schema.DBNames))
	for i, name := range statement.Schema.DBNames {
		named[i] = statement.Schema.Table + "." + name
	}
	return strings.Join(named, ", ")
}
