package v1

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// folderForm is a folder. Templates, which the contract names, are none in this release.
type folderForm struct {
	ID                        int64   `json:"id"`
	Name                      *string `json:"name"`
	Color                     string  `json:"color"`
	GroupID                   *int64  `json:"group_id"`
	IsGroupFolder             bool    `json:"is_group_folder"`
	GroupName                 *string `json:"group_name"`
	CustomPrompt              *string `json:"custom_prompt"`
	DefaultLanguage           *string `json:"default_language"`
	DefaultMinSpeakers        *int    `json:"default_min_speakers"`
	DefaultMaxSpeakers        *int    `json:"default_max_speakers"`
	DefaultHotwords           *string `json:"default_hotwords"`
	DefaultInitialPrompt      *string `json:"default_initial_prompt"`
	DefaultTranscriptionModel *string `json:"default_transcription_model"`
	ProtectFromDeletion       bool    `json:"protect_from_deletion"`
	RetentionDays             *int    `json:"retention_days"`
	AutoShareOnApply          bool    `json:"auto_share_on_apply"`
	ShareWithGroupLead        bool    `json:"share_with_group_lead"`
	NamingTemplateID          *int64  `json:"naming_template_id"`
	NamingTemplateName        *string `json:"naming_template_name"`
	ExportTemplateID          *int64  `json:"export_template_id"`
	ExportTemplateName        *string `json:"export_template_name"`
	CreatedAt                 string  `json:"created_at"`
	RecordingCount            int64   `json:"recording_count"`
}

func folderFormOf(folder recordings.Folder) folderForm {
	return folderForm{
		ID: folder.ID, Name: folder.Name, Color: folder.Color, CustomPrompt: folder.CustomPrompt,
		GroupID: folder.GroupID, IsGroupFolder: folder.GroupID != nil, GroupName: folder.GroupName,
		DefaultLanguage: folder.DefaultLanguage, DefaultMinSpeakers: folder.MinSpeakers, DefaultMaxSpeakers: folder.MaxSpeakers,
		DefaultHotwords: folder.Hotwords, DefaultInitialPrompt: folder.InitialPrompt, DefaultTranscriptionModel: folder.Model,
		ProtectFromDeletion: folder.ProtectFromDeletion, RetentionDays: folder.RetentionDays,
		AutoShareOnApply: folder.AutoShare, ShareWithGroupLead: folder.ShareWithLead,
		CreatedAt: routes.Naive(folder.CreatedAt), RecordingCount: folder.RecordingCount,
	}
}

type folderDetail struct {
	folderForm
	CanEdit bool `json:"can_edit"`
}

type folderListItem struct {
	folderDetail
	UserRole *string `json:"user_role" description:"admin or member of the group; null for a folder of one's own."`
}

// The roles in a group, as the contract knows them.
const (
	groupAdmin  = "admin"
	groupMember = "member"
)

func groupRole(administers bool) string {
	if administers {
		return groupAdmin
	}
	return groupMember
}

func listFoldersOperation() routes.Operation {
	return routes.Operation{
		Summary: "List folders", Group: routes.GroupFolders,
		Notes:   "The account's own by name, then those of its organization; each has at most 1,000.",
		Answers: routes.Answers{http.StatusOK: []folderListItem{{folderDetail: exampleFolderDetail()}}},
	}
}

func (a *API) listFolders(c echo.Context, p auth.Principal) error {
	if a.recordings.FoldersOn() != nil {
		return c.JSON(http.StatusOK, []folderListItem{}) // as the contract has it
	}
	folders, err := a.recordings.Folders(c.Request().Context(), p)
	if err != nil {
		return err
	}
	answer := make([]folderListItem, len(folders))
	for i, folder := range folders {
		answer[i] = folderListItem{folderDetail: folderDetail{folderFormOf(folder), folder.CanEdit}}
		if folder.GroupID != nil {
			answer[i].UserRole = new(groupRole(folder.Lead))
		}
	}
	return c.JSON(http.StatusOK, answer)
}

func showFolderOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show a folder", Group: routes.GroupFolders, Answers: routes.Answers{http.StatusOK: exampleFolderDetail()},
	}
}

func (a *API) showFolder(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "folder")
	if err != nil {
		return err
	}
	folder, err := a.recordings.Folder(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, folderDetail{folderFormOf(folder), folder.CanEdit})
}

// folderFields is what the bodies of folders have besides their name.
type folderFields struct {
	presetFields
	sharingFields
	DefaultHotwords           routes.Optional[string] `json:"default_hotwords" maxLength:"10000"`
	DefaultInitialPrompt      routes.Optional[string] `json:"default_initial_prompt" maxLength:"10000"`
	DefaultTranscriptionModel routes.Optional[string] `json:"default_transcription_model" maxLength:"120"`
	RetentionDays             routes.Optional[int]    `json:"retention_days" minimum:"-1" maximum:"36500" description:"-1 keeps for good; 0 and null follow the server."`
	NamingTemplateID          routes.Optional[int64]  `json:"naming_template_id" description:"null: this release has no templates."`
	ExportTemplateID          routes.Optional[int64]  `json:"export_template_id" description:"null: this release has no templates."`
}

func (f folderFields) edit(name recordings.Edit[string]) recordings.FolderEdit {
	return recordings.FolderEdit{
		Preset: f.preset(name), HoldingEdit: f.sharingFields.edit(), Hotwords: edit(f.DefaultHotwords), InitialPrompt: edit(f.DefaultInitialPrompt),
		Model: edit(f.DefaultTranscriptionModel), RetentionDays: edit(f.RetentionDays),
		NamingTemplateID: edit(f.NamingTemplateID), ExportTemplateID: edit(f.ExportTemplateID),
	}
}

type newFolder struct {
	Name string `json:"name" required:"true" minLength:"1" maxLength:"50" example:"Interviews"`
	folderFields
}

func createFolderOperation() routes.Operation {
	return routes.Operation{
		Summary: "Create a folder", Group: routes.GroupFolders, Request: exampleNewFolder(),
		Notes: "A name that the account, or the group, has already is a 400. What a folder gives as defaults counts for " +
			"recordings in it that were given nothing, by themselves or by a tag. A folder of a group takes a role that may publish.",
		Answers:  routes.Answers{http.StatusCreated: folderFormOf(exampleFolder())},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.NotFound, problems.Conflict, problems.InsufficientPermission, problems.FeatureDisabled},
	}
}

func (a *API) createFolder(c echo.Context, p auth.Principal) error {
	var body newFolder
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	folder, err := a.recordings.CreateFolder(c.Request().Context(), p, body.edit(recordings.Edit[string]{Given: true, Value: &body.Name}))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, folderFormOf(folder))
}

type folderUpdate struct {
	Name routes.Optional[string] `json:"name" minLength:"1" maxLength:"50" example:"Interviews"`
	folderFields
}

func updateFolderOperation(summary string) routes.Operation {
	return routes.Operation{
		Summary: summary, Group: routes.GroupFolders, Request: exampleFolderUpdate(),
		Notes: "What is not named stays, with PUT too. A folder of a group takes a role that may publish, and the scope share where " +
			"more people may come to see recordings. The recordings of others leave what leaves a group.",
		Answers:  routes.Answers{http.StatusOK: folderFormOf(exampleFolder())},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict, problems.InsufficientPermission, problems.FeatureDisabled},
	}
}

func (a *API) updateFolder(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "folder")
	if err != nil {
		return err
	}
	var body folderUpdate
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	folder, err := a.recordings.UpdateFolder(c.Request().Context(), p, id, body.edit(edit(body.Name)))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, folderFormOf(folder))
}

type folderDeletionResult struct {
	Success bool `json:"success"`
}

func deleteFolderOperation() routes.Operation {
	return routes.Operation{
		Summary: "Delete a folder", Group: routes.GroupFolders,
		Notes: "Its recordings stay, in no folder; each changes. When the answer is a failure, some of them may have left " +
			"it already; asking again goes on from there. A folder of a group takes a role that may publish.",
		Answers:  routes.Answers{http.StatusOK: folderDeletionResult{true}},
		Refusals: []problems.Kind{problems.InsufficientPermission, problems.FeatureDisabled},
	}
}

func (a *API) deleteFolder(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "folder")
	if err != nil {
		return err
	}
	if err := a.recordings.DeleteFolder(c.Request().Context(), p, id); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, folderDeletionResult{true})
}
