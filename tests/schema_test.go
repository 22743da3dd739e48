package tests

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
)

// rows lists every struct of the files in rowFiles; TestEveryRowIsListed keeps it whole.
var rows = []any{
	models.Organization{},
	models.User{},
	models.Session{},
	models.APIToken{},
	models.ChangeCounter{},
	models.LimitFigure{},
	models.SystemSetting{},
	models.Recording{},
	models.Transcript{},
	models.TranscriptSegment{},
	models.Folder{},
	models.Tag{},
	models.VocabularyWord{},
	models.RecordingTag{},
	models.Speaker{},
	models.ExternalRef{},
	models.PublicShare{},
	models.InternalShare{},
	models.RecordingState{},
	models.RecordingEvent{},
	models.RecordingCounts{},
	models.RecordingTombstone{},
	models.FeedMark{},
	models.SearchText{},
	models.SearchMark{},
	models.IdempotencyKey{},
	models.IdempotencyEffect{},
	models.Budget{},
	models.BudgetMonth{},
	models.BudgetHold{},
	models.LedgerEntry{},
	models.Integration{},
	models.HookDelivery{},
	models.RecordingImport{},
	models.OutboxEvent{},
	models.Process{},
	models.TeamInvite{},
	models.PasswordReset{},
	models.Identity{},
	models.UsedState{},
	models.AuditEntry{},
	models.AuditSweep{},
	models.Webhook{},
	models.WebhookDelivery{},
}

// rowFiles are where the structs of tables stand.
var rowFiles = []string{
	"rows.go", "belongings.go", "counts.go", "search.go", "idempotency.go", "budgets.go", "internalshares.go", "signin.go", "settings.go",
	"audit.go", "inbound.go", "webhooks.go",
}

// rowless are tables without a struct: goose's own, and those that only functions of PostgreSQL touch.
var rowless = []string{
	"goose_db_version", "limit_counters", "limit_leases", "limit_epochs", "recording_count_changes",
	// FTS5's own.
	"search_trigrams", "search_trigrams_data", "search_trigrams_idx", "search_trigrams_docsize", "search_trigrams_config",
}

// column is a column as a struct or a database describes it. Kind is one of whole, real, text, flag, time, bytes.
type column struct {
	kind     string
	nullable bool
}

// The migrations of both databases and the structs say the same: every field has its column, of the right kind
// and nullable if and only if the field is a pointer, and every column and table has its field and struct.
func TestMigrationsAgreeWithTheRows(t *testing.T) {
	t.Parallel()
	wanted := structColumns(t)
	modelstest.Each(t, func(t *testing.T, db *models.DB) {
		found := databaseColumns(t, db)
		for name, want := range wanted {
			got, ok := found[name]
			switch {
			case !ok:
				t.Errorf("%s is a field and no column", name)
			case got != want:
				t.Errorf("%s is %v in the database and %v in its struct", name, got, want)
			}
		}
		for name := range found {
			if _, ok := wanted[name]; !ok {
				t.Errorf("%s is a column and no field", name)
			}
		}
	})
}

// A number stands for the same change in both folders.
func TestMigrationsHaveOneNumbering(t *testing.T) {
	t.Parallel()
	var names [2][]string
	for i, dialect := range []string{"sqlite", "postgres"} {
		files, err := os.ReadDir("../models/migrations/" + dialect)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			names[i] = append(names[i], file.Name())
		}
	}
	if !slices.Equal(names[0], names[1]) {
		t.Errorf("SQLite has %v and PostgreSQL has %v", names[0], names[1])
	}
}

func TestEveryRowIsListed(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, row := range rows {
		listed = append(listed, strings.TrimPrefix(fmt.Sprintf("%T", row), "models."))
	}
	for _, name := range rowFiles {
		file, err := parser.ParseFile(token.NewFileSet(), "../models/"+name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok && !slices.Contains(listed, spec.Name.Name) {
				t.Errorf("models.%s is not compared with the migrations: add it to rows", spec.Name.Name)
			}
			return true
		})
	}
}

func structColumns(t *testing.T) map[string]column {
	t.Helper()
	columns := map[string]column{}
	for _, row := range rows {
		parsed, err := schema.Parse(row, &sync.Map{}, schema.NamingStrategy{})
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range parsed.Fields {
			kind := map[schema.DataType]string{
				schema.Int: "whole", schema.Float: "real", schema.String: "text",
				schema.Bool: "flag", schema.Time: "time", schema.Bytes: "bytes",
			}[field.DataType]
			columns[parsed.Table+"."+field.DBName] = column{kind, strings.HasPrefix(field.FieldType.String(), "*")}
		}
	}
	return columns
}

func databaseColumns(t *testing.T, db *models.DB) map[string]column {
	t.Helper()
	query := `SELECT table_name AS "table", column_name AS name, data_type AS type, is_nullable = 'YES' AS nullable
		FROM information_schema.columns WHERE table_schema = current_schema()`
	if db.Dialect == models.SQLite {
		query = `SELECT m.name AS "table", c.name AS name, c.type AS type, c."notnull" = 0 AND c.pk = 0 AS nullable
			FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name <> 'sqlite_sequence'`
	}
	var described []struct {
		Table, Name, Type string
		Nullable          bool
	}
	if err := db.Read.Session(&gorm.Session{}).Raw(query).Scan(&described).Error; err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{
		"integer": "whole", "bigint": "whole", "real": "real", "double precision": "real", "text": "text",
		"boolean": "flag", "datetime": "time", "timestamp with time zone": "time", "blob": "bytes", "bytea": "bytes",
	}
	columns := map[string]column{}
	for _, c := range described {
		if !slices.Contains(rowless, c.Table) {
			columns[c.Table+"."+c.Name] = column{kinds[strings.ToLower(c.Type)], c.Nullable}
		}
	}
	return columns
}
