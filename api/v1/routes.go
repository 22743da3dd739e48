// Package v1 is the JSON API. routes.go is its table; each file beside it is one noun or verb: it reads a request,
// calls one story, and writes the answer in the contract's form. No rule of the product is here.
package v1

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/accounts"
	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/orgs"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/speech"
)

// Accounts finds the account that asks, and keeps its settings.
type Accounts interface {
	Find(ctx context.Context, id int64) (accounts.User, error)
	SetAutoSummarization(ctx context.Context, id int64, enabled bool) error
	SetProcessing(ctx context.Context, id int64, set accounts.Processing) (accounts.User, error)
	SignsInBy(ctx context.Context, id int64) (string, error)
}

// Organizations keeps what the members of an organization have in common.
type Organizations interface {
	Profile(ctx context.Context, id int64) (orgs.Profile, error)
	SetPrompts(ctx context.Context, id int64, set orgs.Prompts) (orgs.Profile, error)
	Words(ctx context.Context, p auth.Principal, status string, page, perPage int) ([]orgs.Word, int64, error)
	Propose(ctx context.Context, p auth.Principal, word string) (orgs.Word, error)
	Accept(ctx context.Context, p auth.Principal, id int64) (orgs.Word, error)
	RemoveWord(ctx context.Context, p auth.Principal, id int64) error
}

// Standing tells how the limits of a request's caller stand.
type Standing interface {
	Standing(c echo.Context) ([]limits.State, error)
}

// Options is what the API needs; all of it is required but PublicURL.
type Options struct {
	Recordings    *recordings.Recordings
	Accounts      Accounts
	Organizations Organizations
	Budgets       *budgets.Budgets
	Limits        Standing
	// Addresses tells whether a request came by HTTPS.
	Addresses *auth.Addresses
	// PublicURL is the server's address as its users see it.
	PublicURL string
	// Engine describes the speech engine in use.
	Engine speech.Description
	// Text describes the text model in use.
	Text llm.Description
	// Version is that of this server.
	Version string
	Now     func() time.Time
}

// API has the handlers.
type API struct {
	recordings    *recordings.Recordings
	accounts      Accounts
	organizations Organizations
	budgets       *budgets.Budgets
	limits        Standing
	addresses     *auth.Addresses
	publicURL     string
	engine        speech.Description
	text          llm.Description
	version       string
	now           func() time.Time
}

// New makes the API.
func New(o Options) *API {
	return &API{
		recordings: o.Recordings, accounts: o.Accounts, organizations: o.Organizations, budgets: o.Budgets, limits: o.Limits, engine: o.Engine, text: o.Text,
		addresses: o.Addresses, publicURL: o.PublicURL, version: o.Version, now: o.Now,
	}
}

// Declare adds the rows.
func (a *API) Declare(t *routes.Table) {
	a.declareRecordings(t)
	a.declareBelongings(t)
	a.declareOrganization(t)
	a.declareServer(t)
}

// declareRecordings adds what is asked of recordings themselves.
func (a *API) declareRecordings(t *routes.Table) {
	t.Upload("POST", "/api/v1/recordings/upload", auth.Upload, routes.MaxUpload, budgets.Later(budgets.Transcription), a.uploadRecording, uploadRecordingOperation())
	t.Token("GET", "/api/v1/recordings", auth.Read, a.listRecordings, listRecordingsOperation())
	t.Token("GET", "/api/v1/recordings/changes", auth.Read, a.listChanges, listChangesOperation())
	t.Token("GET", "/api/v1/recordings/:recording", auth.Read, a.showRecording, showRecordingOperation())
	t.Token("PATCH", "/api/v1/recordings/:recording", auth.Write, a.patchRecording, patchRecordingOperation())
	t.Token("DELETE", "/api/v1/recordings/:recording", auth.Delete, a.deleteRecording, deleteRecordingOperation())
	t.Token("GET", "/api/v1/recordings/:recording/status", auth.Read, a.showStatus, showStatusOperation(), routes.InPlaceOfRead(limits.Status))
	t.Token("GET", "/api/v1/recordings/:recording/transcript", auth.Read, a.showTranscript, showTranscriptOperation())
	t.Token("GET", "/api/v1/recordings/:recording/summary", auth.Read, a.showSummary, showSummaryOperation())
	t.Token("PUT", "/api/v1/recordings/:recording/summary", auth.Write, a.replaceSummary, replaceSummaryOperation())
	t.Token("POST", "/api/v1/recordings/:recording/summary/approve", auth.Write, a.approveSummary, approveSummaryOperation(), routes.Needs(auth.Approve))
	t.Token("DELETE", "/api/v1/recordings/:recording/summary/approve", auth.Write, a.withdrawApproval, withdrawApprovalOperation(), routes.Needs(auth.Approve))
	t.Token("GET", "/api/v1/recordings/:recording/notes", auth.Read, a.showNotes, showNotesOperation())
	t.Token("PUT", "/api/v1/recordings/:recording/notes", auth.Write, a.replaceNotes, replaceNotesOperation())
	t.Token("POST", "/api/v1/recordings/:recording/delete-audio", auth.Delete, a.deleteAudio, deleteAudioOperation())
	t.Token("PATCH", "/api/v1/recordings/batch", auth.Write, a.patchBatch, patchBatchOperation(), routes.Weigh("recording_ids"))
	t.Token("DELETE", "/api/v1/recordings/batch", auth.Delete, a.deleteBatch, deleteBatchOperation(), routes.Weigh("recording_ids"))
	t.Paid("POST", "/api/v1/recordings/batch/transcribe", auth.Process, budgets.Transcription, a.transcribeBatch, transcribeBatchOperation(), routes.Weigh("recording_ids"))
	t.Token("GET", "/api/v1/recordings/:recording/audio", auth.Read, a.sendAudio, sendAudioOperation(), routes.LongAnswer())
	t.Paid("POST", "/api/v1/recordings/:recording/transcribe", auth.Process, budgets.Transcription, a.transcribeRecording, transcribeRecordingOperation())

	t.Paid("POST", "/api/v1/recordings/:recording/summarize", auth.Process, budgets.Text, a.summarizeRecording, summarizeRecordingOperation())
	t.Paid("POST", "/api/v1/recordings/:recording/regenerate_title", auth.Process, budgets.Text, a.regenerateTitle, regenerateTitleOperation(), routes.AwaitsModel())
	t.Answer("POST", "/api/v1/recordings/:recording/chat", auth.Process, budgets.Text, a.chat, chatOperation())
	t.Paid("POST", "/api/v1/recordings/:recording/speakers/identify", auth.Process, budgets.Text, a.identifySpeakers, identifySpeakersOperation(), routes.AwaitsModel())
	t.Answer("POST", "/api/v1/inquire", auth.Process, budgets.Text, a.inquire, inquireOperation(), routes.AwaitsAgent())

	t.Late("POST", "/api/v1/integrations/asr-voice-recorder/upload", auth.Upload, routes.MaxUpload, budgets.Later(budgets.Transcription), a.record, recordOperation())
	t.Token("POST", "/api/v1/recordings/import", auth.Upload, a.importRecording, importRecordingOperation(),
		routes.Limit(limits.Import), routes.Later(budgets.Later(budgets.Transcription)))

	t.Token("GET", "/api/v1/search", auth.Read, a.search, searchOperation(), routes.Limit(limits.Search))
}

// declareBelongings adds what recordings are put into and what is said of them.
func (a *API) declareBelongings(t *routes.Table) {
	t.Token("GET", "/api/v1/recordings/:recording/speakers", auth.Read, a.listVoices, listVoicesOperation())
	t.Token("PUT", "/api/v1/recordings/:recording/speakers/assign", auth.Write, a.assignSpeakers, assignSpeakersOperation(), routes.Later(budgets.Later(budgets.Text)))
	t.Token("GET", "/api/v1/speakers", auth.Read, a.listSpeakers, listSpeakersOperation())
	t.Token("POST", "/api/v1/speakers", auth.Write, a.createSpeaker, createSpeakerOperation())
	t.Token("PUT", "/api/v1/speakers/:speaker", auth.Write, a.changeSpeaker, changeSpeakerOperation())
	t.Token("DELETE", "/api/v1/speakers/:speaker", auth.Delete, a.deleteSpeaker, deleteSpeakerOperation())

	t.Token("GET", "/api/v1/recordings/:recording/external-refs", auth.Read, a.listRefs, listRefsOperation())
	t.Token("POST", "/api/v1/recordings/:recording/external-refs", auth.Write, a.addRef, addRefOperation())
	t.Token("PUT", "/api/v1/recordings/:recording/external-refs", auth.Write, a.replaceRefs, replaceRefsOperation())
	t.Token("DELETE", "/api/v1/recordings/:recording/external-refs/:ref", auth.Write, a.removeRef, removeRefOperation())

	t.Token("POST", "/api/v1/recordings/:recording/share", auth.Share, a.shareRecording, shareRecordingOperation(),
		routes.Needs(auth.Publish))
	t.Token("GET", "/api/v1/recordings/:recording/shares", auth.Share, a.listShares, listSharesOperation())
	t.Token("DELETE", "/api/v1/shares/:share", auth.Share, a.revokeShare, revokeShareOperation())

	t.Token("POST", "/api/v1/recordings/:recording/internal-shares", auth.Share, a.shareInternally, shareInternallyOperation())
	t.Token("GET", "/api/v1/recordings/:recording/internal-shares", auth.Share, a.listInternalShares, listInternalSharesOperation())
	t.Token("DELETE", "/api/v1/recordings/:recording/internal-shares", auth.Share, a.endInternalShareWith, endInternalShareWithOperation())
	t.Token("DELETE", "/api/v1/recordings/:recording/internal-shares/:share", auth.Share, a.endInternalShare, endInternalShareOperation())
	t.Token("GET", "/api/v1/users/search", auth.Read, a.searchUsers, searchUsersOperation())

	t.Token("GET", "/api/v1/recordings/:recording/events", auth.Read, a.listEvents, listEventsOperation())
	t.Token("GET", "/api/v1/recordings/:recording/events/ics", auth.Read, a.sendCalendar, sendCalendarOperation())

	t.Token("GET", "/api/v1/tags", auth.Read, a.listTags, listTagsOperation())
	t.Token("POST", "/api/v1/tags", auth.Write, a.createTag, createTagOperation())
	t.Token("PUT", "/api/v1/tags/:tag", auth.Write, a.updateTag, updateTagOperation())
	t.Token("DELETE", "/api/v1/tags/:tag", auth.Delete, a.deleteTag, deleteTagOperation())
	t.Token("POST", "/api/v1/recordings/:recording/tags", auth.Write, a.addTags, addTagsOperation())
	t.Token("PUT", "/api/v1/recordings/:recording/tags", auth.Write, a.replaceTags, replaceTagsOperation())
	t.Token("DELETE", "/api/v1/recordings/:recording/tags/:tag", auth.Write, a.removeTag, removeTagOperation())

	t.Token("GET", "/api/v1/folders", auth.Read, a.listFolders, listFoldersOperation())
	t.Token("POST", "/api/v1/folders", auth.Write, a.withFolders(a.createFolder), createFolderOperation())
	t.Token("GET", "/api/v1/folders/:folder", auth.Read, a.showFolder, showFolderOperation())
	t.Token("PATCH", "/api/v1/folders/:folder", auth.Write, a.withFolders(a.updateFolder), updateFolderOperation("Change a folder"))
	t.Token("PUT", "/api/v1/folders/:folder", auth.Write, a.withFolders(a.updateFolder), updateFolderOperation("Change a folder, as PATCH does"))
	t.Token("DELETE", "/api/v1/folders/:folder", auth.Delete, a.withFolders(a.deleteFolder), deleteFolderOperation())
}

// declareOrganization adds what the members of an organization have in common.
func (a *API) declareOrganization(t *routes.Table) {
	t.Token("GET", "/api/v1/organization", auth.Read, a.showOrganization, showOrganizationOperation())
	t.Token("PATCH", "/api/v1/organization", auth.Write, a.updateOrganization, updateOrganizationOperation(), routes.Needs(auth.Publish))
	t.Token("GET", "/api/v1/vocabulary", auth.Read, a.listWords, listWordsOperation())
	t.Token("POST", "/api/v1/vocabulary", auth.Write, a.proposeWord, proposeWordOperation())
	t.Token("POST", "/api/v1/vocabulary/:word/accept", auth.Write, a.acceptWord, acceptWordOperation(), routes.Needs(auth.AcceptMemoryRule))
	t.Token("DELETE", "/api/v1/vocabulary/:word", auth.Write, a.removeWord, removeWordOperation())
}

// declareServer adds what is asked of the server and the account.
func (a *API) declareServer(t *routes.Table) {
	t.Token("GET", "/api/v1/capabilities", auth.AnyToken, a.showCapabilities, showCapabilitiesOperation())
	t.Token("GET", "/api/v1/limits", auth.AnyToken, a.showLimits, showLimitsOperation())
	t.Token("GET", "/api/v1/stats", auth.Read, a.showStats, showStatsOperation())
	t.Token("GET", "/api/v1/usage", auth.Read, a.showUsage, showUsageOperation())
	t.Token("GET", "/api/v1/transcription", auth.Read, a.showTranscription, showTranscriptionOperation())
	t.Token("PUT", "/api/v1/settings/auto-summarization", auth.Settings, a.setAutoSummarization, setAutoSummarizationOperation())
	t.Token("PATCH", "/api/v1/settings/processing", auth.Settings, a.setProcessing, setProcessingOperation())
	t.Token("GET", "/api/v1/users/me", auth.Read, a.showUser, showUserOperation())
}
