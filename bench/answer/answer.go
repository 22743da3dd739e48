// Package answer is the JSON that every Go server of the comparison sends: the shape and the length of the product's
// GET /api/v1/capabilities. The tool compares the bytes with those of the product before it measures anything.
package answer

// Path is the route that is measured.
const Path = "/api/v1/capabilities"

// Capabilities has the members of the product's answer in their order. The values that matter for the bytes are the
// caller's to say, because the version is that of the build.
type Capabilities struct {
	SpeakrVersion string   `json:"speakr_version"`
	APIVersion    string   `json:"api_version"`
	Server        string   `json:"server"`
	ServerVersion string   `json:"server_version"`
	Features      Features `json:"features"`
	ModelsLocal   bool     `json:"models_local"`
}

// Features are the switches of the answer.
type Features struct {
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
	Search             Search  `json:"search"`
	Inquire            Inquire `json:"inquire"`
}

// Search is a member of Features.
type Search struct {
	Keyword  bool `json:"keyword"`
	Semantic bool `json:"semantic"`
}

// Inquire is a member of Features.
type Inquire struct {
	Enabled bool `json:"enabled"`
	Agent   bool `json:"agent"`
}
