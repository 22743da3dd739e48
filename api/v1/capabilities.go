package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/speech"
)

// The API whose clients work against this server: its version of the contract and of the product that had it.
const (
	apiVersion        = "1.1"
	compatibleVersion = "v0.10.11-alpha"
)

type capabilities struct {
	SpeakrVersion string   `json:"speakr_version"`
	APIVersion    string   `json:"api_version"`
	Server        string   `json:"server"`
	ServerVersion string   `json:"server_version"`
	Features      features `json:"features"`
	ModelsLocal   bool     `json:"models_local"`
}

// features is what clients may rely on: true only for what this release has.
type features struct {
	TokenScopes        bool            `json:"token_scopes"`
	ChangesFeed        bool            `json:"changes_feed"`
	ETags              bool            `json:"etags"`
	WebhookSignatureV2 bool            `json:"webhook_signature_v2"`
	ExternalRefs       bool            `json:"external_refs"`
	UploadIdempotency  bool            `json:"upload_idempotency"`
	ShareLinks         bool            `json:"share_links"`
	ChatSources        bool            `json:"chat_sources"`
	InternalSharing    bool            `json:"internal_sharing"`
	PublicSharing      bool            `json:"public_sharing"`
	CanSharePublicly   bool            `json:"can_share_publicly"`
	Search             searchFeatures  `json:"search"`
	Inquire            inquireFeatures `json:"inquire"`
}

type searchFeatures struct {
	Keyword  bool `json:"keyword"`
	Semantic bool `json:"semantic"`
}

type inquireFeatures struct {
	Enabled bool `json:"enabled"`
	Agent   bool `json:"agent"`
}

func showCapabilitiesOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show what this server supports", Group: routes.GroupServer, Answers: routes.Answers{http.StatusOK: capabilitiesOf("1.0.0", true, true, false, false, inquireFeatures{})},
	}
}

func (a *API) showCapabilities(c echo.Context, p auth.Principal) error {
	local := a.engine.Connector == speech.Embedded && a.text.Embedded
	inquire := inquireFeatures{Enabled: a.recordings.MayInquire() == nil, Agent: a.recordings.LooksUp()}
	return c.JSON(http.StatusOK, capabilitiesOf(a.version, a.recordings.PublicSharing, p.May(auth.Publish), a.recordings.InternalSharing, local, inquire))
}

func capabilitiesOf(version string, publicSharing, mayPublish, internalSharing, modelsLocal bool, inquire inquireFeatures) capabilities {
	return capabilities{
		SpeakrVersion: compatibleVersion, APIVersion: apiVersion, Server: "stenometer", ServerVersion: version, ModelsLocal: modelsLocal,
		Features: features{
			ShareLinks: true, InternalSharing: internalSharing, PublicSharing: publicSharing, CanSharePublicly: publicSharing && mayPublish,
			TokenScopes: true, ChangesFeed: true, ETags: true, ExternalRefs: true, WebhookSignatureV2: true, UploadIdempotency: true, ChatSources: true,
			Search: searchFeatures{Keyword: true}, Inquire: inquire,
		},
	}
}
