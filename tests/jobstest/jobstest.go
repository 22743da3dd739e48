// Package jobstest gives tests databases with the queue's tables.
package jobstest

import (
	"github.com/stenometer/stenometer/jobs"
	"github.com/stenometer/stenometer/models/modelstest"
)

// Migrated has every table that a server makes.
var Migrated = modelstest.NewTemplate("jobs", jobs.Migrate)
