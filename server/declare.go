package server

import (
	accounthandlers "github.com/stenometer/stenometer/accounts/handlers"
	"github.com/stenometer/stenometer/api/health"
	"github.com/stenometer/stenometer/api/openai"
	"github.com/stenometer/stenometer/api/openapi"
	v1 "github.com/stenometer/stenometer/api/v1"
	"github.com/stenometer/stenometer/api/v1/admin"
	"github.com/stenometer/stenometer/routes"
	tokenhandlers "github.com/stenometer/stenometer/tokens/handlers"
	"github.com/stenometer/stenometer/web"
	webhookhandlers "github.com/stenometer/stenometer/webhooks/handlers"
	"github.com/stenometer/stenometer/webhooks/inbound"
)

// Parts are the owners of routes.
type Parts struct {
	Health   *health.API
	Accounts *accounthandlers.Handlers
	Tokens   *tokenhandlers.Handlers
	V1       *v1.API
	Admin    *admin.API
	OpenAI   *openai.API
	Webhooks *webhookhandlers.Handlers
	Inbound  *inbound.Handlers
	OpenAPI  *openapi.API
	Web      *web.Pages
}

// Declare lists every owner of routes: what is not declared here is not served. The tests' walk builds its table by
// this function too.
func Declare(t *routes.Table, parts Parts) {
	parts.Health.Declare(t)
	parts.Accounts.Declare(t)
	parts.Tokens.Declare(t)
	parts.V1.Declare(t)
	parts.Admin.Declare(t)
	parts.OpenAI.Declare(t)
	parts.Webhooks.Declare(t)
	parts.Inbound.Declare(t)
	parts.OpenAPI.Declare(t)
	parts.Web.Declare(t)
}
