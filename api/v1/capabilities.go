package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
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
	TokenScopes        bool    `json:"token_scopes"`
	ChangesFeed        bool    `json:"changes_feed"`
	ETags              bool    `json:"etags"`
	WebhookSignatureV2 bool    `json:"webhook_signature_v2"`
	ExternalRefs       bool    `json:"external_refs"`
	UploadIdempotency  bool    `json:"upload_idempotency"`
	ShareLinks         bool    `json:"share_links"`
	ChatSources        bool    `json:"chat_sources"`
	InternalSharing    bool    `json:"internal_sharing"`
	PublicSharing      bool    `json:"public_sharing"`
	CanSharePublicly   bool    `json:"can_share_publicly"`
	Search             search  `json:"search"`
	Inquire            inquire `json:"inquire"`
}

type search struct {
	Keyword  bool `json:"keyword"`
	Semantic bool `json:"semantic"`
}

type inquire struct {
	Enabled bool `json:"enabled"`
	Agent   bool `json:"agent"`
}

func showCapabilitiesOperation() routes.Operation {
	return routes.Operation{
		Summary: "Tell what this server can do", Group: routes.GroupServer, Answers: routes.Answers{http.StatusOK: capabilities{}},
	}
}

func (a *API) showCapabilities(c echo.Context, p auth.Principal) error {
	return c.JSON(http.StatusOK, capabilities{
		SpeakrVersion: compatibleVersion, APIVersion: apiVersion, Server: "stenometer", ServerVersion: a.version,
		Features: features{
			ShareLinks: true, PublicSharing: a.recordings.PublicSharing,
			CanSharePublicly: a.recordings.PublicSharing && p.MayPublish(),
			TokenScopes:      true, ChangesFeed: true, ETags: true, ExternalRefs: true, UploadIdempotency: true,
			Search: search{Keyword: true},
		},
	})
}
