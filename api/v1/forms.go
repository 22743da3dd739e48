package v1

import (
	"html"
	"strconv"
	"strings"

	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// recordingFields is what every form of a recording has.
type recordingFields struct {
	ID                           int64             `json:"id"`
	Title                        *string           `json:"title"`
	Status                       string            `json:"status"`
	CreatedAt                    string            `json:"created_at"`
	CompletedAt                  *string           `json:"completed_at"`
	MeetingDate                  *string           `json:"meeting_date"`
	UpdatedAt                    string            `json:"updated_at"`
	FileSize                     int64             `json:"file_size"`
	OriginalFilename             *string           `json:"original_filename"`
	Participants                 *string           `json:"participants"`
	IsInbox                      bool              `json:"is_inbox"`
	IsHighlighted                bool              `json:"is_highlighted"`
	IsArchived                   bool              `json:"is_archived"`
	AudioAvailable               bool              `json:"audio_available"`
	AudioDuration                *float64          `json:"audio_duration"`
	ProcessingTimeSeconds        *float64          `json:"processing_time_seconds"`
	TranscriptionDurationSeconds *int64            `json:"transcription_duration_seconds"`
	SummarizationDurationSeconds *int64            `json:"summarization_duration_seconds"`
	FolderID                     *int64            `json:"folder_id"`
	Folder                       *recordingFolder  `json:"folder"`
	DeletionExempt               bool              `json:"deletion_exempt"`
	KeepAudioOnly                bool              `json:"keep_audio_only"`
	Tags                         []recordingTag    `json:"tags"`
	ExternalRefs                 []externalRefForm `json:"external_refs"`
}

type recordingFolder struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

type recordingTag struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Color string `json:"color"`
}

// externalRefForm is a reference to another system.
type externalRefForm struct {
	ID        int64   `json:"id"`
	System    string  `json:"system"`
	Kind      string  `json:"kind"`
	Ref       string  `json:"ref"`
	URL       *string `json:"url"`
	Label     *string `json:"label"`
	CreatedAt string  `json:"created_at"`
}

func externalRefFormOf(r recordings.ExternalRef) externalRefForm {
	return externalRefForm{r.ID, r.System, r.Kind, r.Ref, r.URL, r.Label, routes.Micro(r.CreatedAt)}
}

func recordingFieldsOf(r recordings.Recording) recordingFields {
	form := recordingFields{
		ID: r.ID, Title: r.Title, Status: r.Status,
		CreatedAt: routes.Naive(r.CreatedAt), CompletedAt: routes.NaiveOrNull(r.CompletedAt),
		MeetingDate: routes.NaiveOrNull(r.MeetingDate), UpdatedAt: routes.Micro(r.UpdatedAt),
		FileSize: r.FileSize, OriginalFilename: r.OriginalFilename, Participants: r.Participants,
		IsInbox: r.IsInbox, IsHighlighted: r.IsHighlighted, IsArchived: r.IsArchived,
		AudioAvailable: r.AudioAvailable, AudioDuration: r.AudioDuration,
		ProcessingTimeSeconds: r.ProcessingSeconds, TranscriptionDurationSeconds: r.TranscriptionSeconds, SummarizationDurationSeconds: r.SummarizationSeconds,
		FolderID: r.FolderID, Tags: []recordingTag{}, ExternalRefs: []externalRefForm{},
	}
	if r.Folder != nil {
		form.Folder = &recordingFolder{r.Folder.ID, r.Folder.Name}
	}
	for _, tag := range r.Tags {
		form.Tags = append(form.Tags, recordingTag{tag.ID, tag.Name, tag.Color})
	}
	for _, ref := range r.ExternalRefs {
		form.ExternalRefs = append(form.ExternalRefs, externalRefFormOf(ref))
	}
	return form
}

// recordingListItem is a recording in a list.
type recordingListItem struct {
	recordingFields
	HasTranscription bool            `json:"has_transcription"`
	HasSummary       bool            `json:"has_summary"`
	ErrorMessage     *string         `json:"error_message"`
	ErrorCode        *string         `json:"error_code"`
	IsShared         bool            `json:"is_shared"`
	Owner            *recordingOwner `json:"owner"`
	Share            *recordingShare `json:"share"`
}

// recordingOwner is whose a recording is that is shared with the caller. There are no names of persons: name is null.
type recordingOwner struct {
	ID       int64   `json:"id"`
	Username *string `json:"username" description:"null unless SHOW_USERNAMES_IN_UI is set."`
	Name     *string `json:"name" description:"Always null."`
}

// recordingShare is how it is shared with the caller.
type recordingShare struct {
	ID         int64  `json:"id"`
	CanEdit    bool   `json:"can_edit"`
	CanReshare bool   `json:"can_reshare"`
	Source     string `json:"source" enum:"manual,group_tag,group_folder"`
	SharedAt   string `json:"shared_at"`
}

func recordingListItemOf(r recordings.Recording) recordingListItem {
	item := recordingListItem{
		recordingFields: recordingFieldsOf(r), HasTranscription: r.HasTranscript, HasSummary: r.HasSummary,
		ErrorMessage: r.ErrorMessage, ErrorCode: r.ErrorCode,
	}
	if r.Owner != nil && r.Share != nil {
		item.IsShared = true
		item.Owner = &recordingOwner{ID: r.Owner.ID, Username: r.Owner.Username}
		item.Share = &recordingShare{r.Share.ID, r.Share.CanEdit, r.Share.CanReshare, r.Share.Source, routes.Micro(r.Share.At)}
	}
	return item
}

// recordingDetail is one recording. The three texts are absent, rather than null, where they were not asked for.
type recordingDetail struct {
	recordingFields
	ErrorMessage  *string        `json:"error_message"`
	ErrorCode     *string        `json:"error_code"`
	MimeType      *string        `json:"mime_type"`
	Events        []event        `json:"events"`
	DuplicateInfo *duplicateInfo `json:"duplicate_info"`
	Transcription **string       `json:"transcription,omitempty"`
	Summary       **string       `json:"summary,omitempty"`
	Notes         **string       `json:"notes,omitempty"`
	approvalForm
}

func recordingDetailOf(detail recordings.Detail, include map[string]bool) recordingDetail {
	r := detail.Recording
	form := recordingDetail{
		recordingFields: recordingFieldsOf(r), ErrorMessage: r.ErrorMessage, ErrorCode: r.ErrorCode, MimeType: r.MimeType,
		Events: eventsOf(detail.Events), DuplicateInfo: duplicateInfoOf(detail.Copies),
		approvalForm: approvalFormOf(r),
	}
	if include["transcription"] {
		form.Transcription = &detail.Transcription
	}
	if include["summary"] {
		form.Summary = &r.Summary
	}
	if include["notes"] {
		form.Notes = &r.Notes
	}
	return form
}

// uploadedRecording is the answer to an upload.
type uploadedRecording struct {
	recordingFields
	UserID                int64                   `json:"user_id"`
	MimeType              *string                 `json:"mime_type"`
	AudioDeletedAt        *string                 `json:"audio_deleted_at"`
	Tags                  []uploadedTag           `json:"tags"`
	Folder                *folderForm             `json:"folder"`
	Notes                 *string                 `json:"notes"`
	NotesHTML             string                  `json:"notes_html"`
	Transcription         *string                 `json:"transcription"`
	Summary               *string                 `json:"summary"`
	SummaryHTML           string                  `json:"summary_html"`
	Events                []event                 `json:"events"`
	PromptVariables       map[string]string       `json:"prompt_variables"`
	ResolvedHotwords      *string                 `json:"resolved_hotwords"`
	ResolvedInitialPrompt *string                 `json:"resolved_initial_prompt"`
	DuplicateInfo         *duplicateInfo          `json:"duplicate_info"`
	SharedWithCount       int                     `json:"shared_with_count"`
	PublicShareCount      int                     `json:"public_share_count"`
	Ignored               *routes.IgnoredOnUpload `json:"ignored,omitempty"`
	IdempotentReplay      bool                    `json:"idempotent_replay,omitempty"`
	DuplicateWarning      *duplicateWarning       `json:"duplicate_warning,omitempty"`
}

// uploadedTag is a tag as the answer to an upload shows it, with the keys of the contract that this release has.
type uploadedTag struct {
	tagForm
	CreatedAt string `json:"created_at"`
}

type duplicateWarning struct {
	ExistingRecordingID int64   `json:"existing_recording_id"`
	ExistingTitle       *string `json:"existing_title"`
	ExistingCreatedAt   string  `json:"existing_created_at"`
}

func uploadedRecordingOf(u recordings.Uploaded) uploadedRecording {
	r := u.Recording
	form := uploadedRecording{
		recordingFields: recordingFieldsOf(r), UserID: r.UserID, MimeType: r.MimeType, AudioDeletedAt: routes.NaiveOrNull(r.AudioDeletedAt),
		Notes: r.Notes, NotesHTML: paragraphs(r.Notes), Summary: r.Summary, SummaryHTML: paragraphs(r.Summary),
		Tags: []uploadedTag{}, Events: []event{}, PromptVariables: map[string]string{},
		ResolvedHotwords: r.Hotwords, ResolvedInitialPrompt: r.InitialPrompt,
		DuplicateInfo:    duplicateInfoOf(u.Copies),
		IdempotentReplay: u.Replayed,
	}
	if len(r.PromptVariables) > 0 {
		form.PromptVariables = r.PromptVariables
	}
	if !u.Replayed {
		form.Ignored = &routes.IgnoredOnUpload{TagIDs: u.Ignored.TagIDs, FolderID: u.Ignored.FolderID}
	}
	for _, tag := range u.Tags {
		form.Tags = append(form.Tags, uploadedTag{tagFormOf(tag), routes.Naive(tag.CreatedAt)})
	}
	if u.Folder != nil {
		folder := folderFormOf(*u.Folder)
		form.Folder = &folder
	}
	if u.Duplicate != nil {
		form.DuplicateWarning = &duplicateWarning{u.Duplicate.ID, u.Duplicate.Title, routes.Naive(u.Duplicate.CreatedAt)}
	}
	return form
}

// duplicateInfo are the account's recordings of the same bytes.
type duplicateInfo struct {
	TotalCopies int             `json:"total_copies"`
	Copies      []recordingCopy `json:"copies"`
}

type recordingCopy struct {
	ID        int64  `json:"id"`
	Title     string `json:"title"`
	CreatedAt string `json:"created_at"`
	IsSelf    bool   `json:"is_self"`
}

func duplicateInfoOf(copies []recordings.Copy) *duplicateInfo {
	if len(copies) == 0 {
		return nil
	}
	form := &duplicateInfo{TotalCopies: len(copies)}
	for _, c := range copies {
		title := "#" + strconv.FormatInt(c.ID, 10)
		if c.Title != nil {
			title = *c.Title
		}
		form.Copies = append(form.Copies, recordingCopy{c.ID, title, routes.Naive(c.CreatedAt), c.IsSelf})
	}
	return form
}

// paragraphs is text as HTML, with nothing of it read as markup.
func paragraphs(text *string) string {
	if text == nil || strings.TrimSpace(*text) == "" {
		return ""
	}
	var out strings.Builder
	for block := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSpace(*text), "\r\n", "\n"), "\n\n") {
		if block = strings.TrimSpace(block); block != "" {
			out.WriteString("<p>" + strings.ReplaceAll(html.EscapeString(block), "\n", "<br>") + "</p>")
		}
	}
	return out.String()
}
