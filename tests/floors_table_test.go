package tests

// module is the path that all of our import paths begin with.
const module = "github.com/stenometer/stenometer"

// floor is one row of the table of who may import whom. A row speaks for the package and the packages below it, up
// to the next row: "api/v1" also for "api/v1/admin", "tokens" not for "tokens/handlers".
type floor struct {
	pkg       string
	mayImport []string
}

// words is floor 0: every package above may import these, and they import nothing of ours.
var words = []string{"problems", "config", "metrics", "outbound", "media", "sealed", "resting", "providers"}

// ideas and stories are what the surfaces are made of: floors 2, 3 and 4.
var ideasAndStories = []string{
	"limits", "auth", "streams", "budgets", "audit", "settings", "idempotency", "jobs",
	"accounts", "accounts/oidc", "tokens", "orgs", "llm", "speech", "webhooks",
	"recordings", "completions", "integrations", "spool",
}

// floors is the table of the layout, lowest floor first. A package of ours that has no row here is a fault: say where
// it stands before it is written.
var floors = buildFloors()

func buildFloors() []floor {
	var table []floor
	for _, pkg := range words {
		table = append(table, floor{pkg, nil})
	}
	above := func(pkg string, mayImport ...string) {
		table = append(table, floor{pkg, append(append([]string{}, words...), mayImport...)})
	}
	above("models")
	above("mail")
	above("limits", "models")
	above("auth", "limits")
	above("spool")
	above("streams")
	above("budgets", "models")
	above("audit", "models")
	above("settings", "models")
	above("idempotency", "models")
	above("jobs", "models", "auth", "limits", "budgets")
	above("accounts/oidc")
	above("accounts", "models", "auth", "limits", "audit", "mail", "jobs")
	above("tokens", "models", "auth", "limits", "audit", "mail", "jobs")
	above("orgs", "models", "auth", "limits", "audit", "mail", "jobs")
	above("integrations", "models", "auth")
	above("llm", "budgets")
	above("speech", "budgets")
	above("webhooks", "models", "auth", "jobs", "audit")
	above("recordings", "models", "auth", "budgets", "jobs", "speech", "llm", "webhooks", "streams", "orgs",
		"idempotency", "audit", "settings", "spool")
	above("completions", "models", "budgets", "llm", "streams")
	above("routes", "auth", "limits", "budgets", "streams", "idempotency", "audit", "spool")
	surfaces := append([]string{"routes"}, ideasAndStories...)
	for _, pkg := range surfacePackages {
		above(pkg, surfaces...)
	}
	above("server", append(append([]string{"models", "mail", "routes"}, ideasAndStories...), surfacePackages...)...)
	table = append(table, floor{"cmd/server", []string{"config", "server"}})
	return table
}

// surfacePackages is floor 6.
var surfacePackages = []string{
	"api/v1", "api/openai", "api/health", "api/openapi", "web", "accounts/handlers", "tokens/handlers", "webhooks/handlers", "webhooks/inbound",
}

// testPackages hold what tests share. They may import anything, and nothing of the product may import them.
var testPackages = []string{
	"limits/limitstest", "models/modelstest", "auth/authtest", "budgets/budgetstest", "routes/probe", "tests",
}

// libraryFloor says which packages may import a library, by the prefix of its path.
type libraryFloor struct {
	library string
	pkgs    []string
	why     string
}

var libraryFloors = []libraryFloor{
	{
		"github.com/labstack/echo", append([]string{"auth", "routes"}, surfacePackages...),
		"the web framework stays in auth, routes and the surfaces",
	},
	{"gorm.io/", append([]string{"models"}, importersOf("models")...), "rows are for packages that may import models"},
	{"github.com/redis/go-redis", []string{"limits", "server"}, "limits owns the storage connection"},
	{"github.com/ulule/limiter", []string{"config", "limits"}, "others take limits and states, not rates"},
	{"github.com/riverqueue/river", []string{"jobs", "recordings", "accounts", "webhooks"}, "only jobs and the workers know the queue"},
	{"github.com/alexedwards/scs", []string{"accounts"}, "sessions belong to accounts"},
	{"github.com/prometheus/", []string{"metrics"}, "others declare what they count, metrics keeps it"},
	{"github.com/swaggest/", []string{"routes"}, "routes makes the document of the API"},
	{"github.com/openai/", []string{"llm"}, "llm is the one way to a text model"},
	{"github.com/wneessen/go-mail", []string{"mail"}, "mail is the one way to a mail server"},
	{"github.com/coreos/go-oidc", []string{"accounts/oidc"}, "accounts/oidc is the one that asks issuers"},
	{"os/exec", []string{"media"}, "media is the only starter of child processes: it bounds them"},
}

// importersOf are the packages whose row lists pkg.
func importersOf(pkg string) []string {
	var importers []string
	for _, row := range buildFloors() {
		for _, imported := range row.mayImport {
			if imported == pkg {
				importers = append(importers, row.pkg)
			}
		}
	}
	return importers
}

// echoWords are names of echo by which a route could get past the table, and who may say them.
var echoWords = map[string][]string{
	"New":            {"routes"},
	"Echo":           {"routes"},
	"Group":          {"routes"},
	"MiddlewareFunc": {"routes", "auth"},
}

// clientMakers may build HTTP clients: outbound for the product, and the demo, which calls the server it started.
var clientMakers = []string{"outbound", "server/demo.go"}

// emptyNames are package names that say nothing of what is inside.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "misc", "types", "manager"}

// longestFile is how many lines a Go file may have; one idea a file needs fewer.
const longestFile = 450
