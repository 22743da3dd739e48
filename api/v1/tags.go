package v1

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// basicTag is what every form of a tag has.
type basicTag struct {
	ID                  int64   `json:"id"`
	Name                *string `json:"name"`
	Color               string  `json:"color"`
	CustomPrompt        *string `json:"custom_prompt"`
	DefaultLanguage     *string `json:"default_language"`
	DefaultMinSpeakers  *int    `json:"default_min_speakers"`
	DefaultMaxSpeakers  *int    `json:"default_max_speakers"`
	ProtectFromDeletion bool    `json:"protect_from_deletion"`
}

func basicTagOf(tag recordings.Tag) basicTag {
	return basicTag{
		ID: tag.ID, Name: tag.Name, Color: tag.Color, CustomPrompt: tag.CustomPrompt, DefaultLanguage: tag.DefaultLanguage,
		DefaultMinSpeakers: tag.MinSpeakers, DefaultMaxSpeakers: tag.MaxSpeakers, ProtectFromDeletion: tag.ProtectFromDeletion,
	}
}

// tagForm is a tag with the group, which is the organization, that it belongs to.
type tagForm struct {
	basicTag
	IsGroupTag         bool    `json:"is_group_tag"`
	GroupID            *int64  `json:"group_id"`
	GroupName          *string `json:"group_name"`
	AutoShareOnApply   bool    `json:"auto_share_on_apply"`
	ShareWithGroupLead bool    `json:"share_with_group_lead"`
}

func tagFormOf(tag recordings.Tag) tagForm {
	return tagForm{
		basicTag: basicTagOf(tag), IsGroupTag: tag.GroupID != nil, GroupID: tag.GroupID, GroupName: tag.GroupName,
		AutoShareOnApply: tag.AutoShare, ShareWithGroupLead: tag.ShareWithLead,
	}
}

// tagListItem is a tag in the list. Prompts for titles, which the contract names, are none in this release.
type tagListItem struct {
	tagForm
	TitlePrompt *string `json:"title_prompt"`
	CanEdit     bool    `json:"can_edit"`
}

type tagList struct {
	Tags []tagListItem `json:"tags"`
}

type tagQuery struct {
	Name *string `query:"name" description:"Keeps those that are called exactly so, in any case." example:"Standup"`
}

func listTagsOperation() routes.Operation {
	return routes.Operation{
		Summary: "List tags", Group: routes.GroupTags, Request: tagQuery{},
		Notes:   "The account's own by name, then those of its organization; each has at most 1,000.",
		Answers: routes.Answers{http.StatusOK: exampleTagList()},
	}
}

func (a *API) listTags(c echo.Context, p auth.Principal) error {
	tags, err := a.recordings.Tags(c.Request().Context(), p, strings.TrimSpace(c.QueryParam("name")))
	if err != nil {
		return err
	}
	answer := tagList{Tags: make([]tagListItem, len(tags))}
	for i, tag := range tags {
		answer.Tags[i] = tagListItem{tagForm: tagFormOf(tag), CanEdit: tag.CanEdit}
	}
	return c.JSON(http.StatusOK, answer)
}

// presetFields is what the bodies of tags and folders have in common.
type presetFields struct {
	Color              routes.Optional[string] `json:"color" minLength:"7" maxLength:"7" pattern:"^#[0-9A-Fa-f]{6}$" description:"null is the usual color." example:"#3B82F6"`
	CustomPrompt       routes.Optional[string] `json:"custom_prompt" maxLength:"10000"`
	DefaultLanguage    routes.Optional[string] `json:"default_language" maxLength:"10" example:"en"`
	DefaultMinSpeakers routes.Optional[int]    `json:"default_min_speakers" minimum:"1" maximum:"100"`
	DefaultMaxSpeakers routes.Optional[int]    `json:"default_max_speakers" minimum:"1" maximum:"100"`
}

// sharingFields is whose a tag or a folder is to be, and how recordings are shared by it.
type sharingFields struct {
	GroupID            routes.Optional[int64] `json:"group_id" description:"The organization's id: all of its members use it, and those may change it whose role may publish. null and 0: the account's own."`
	AutoShareOnApply   routes.Optional[bool]  `json:"auto_share_on_apply" description:"Shares recordings with every member of the organization, unless it is false."`
	ShareWithGroupLead routes.Optional[bool]  `json:"share_with_group_lead" description:"Shares recordings with those who administer the organization, unless it is false."`
}

func (f sharingFields) edit() recordings.HoldingEdit {
	return recordings.HoldingEdit{
		GroupID: edit(f.GroupID), AutoShare: edit(f.AutoShareOnApply), ShareWithLead: edit(f.ShareWithGroupLead),
	}
}

func (f presetFields) preset(name recordings.Edit[string]) recordings.Preset {
	return recordings.Preset{
		Name: name, Color: edit(f.Color), CustomPrompt: edit(f.CustomPrompt), DefaultLanguage: edit(f.DefaultLanguage),
		MinSpeakers: edit(f.DefaultMinSpeakers), MaxSpeakers: edit(f.DefaultMaxSpeakers),
	}
}

type newTag struct {
	Name string `json:"name" required:"true" minLength:"1" maxLength:"50" example:"Standup"`
	presetFields
	sharingFields
	ProtectFromDeletion routes.Optional[bool] `json:"protect_from_deletion"`
}

func createTagOperation() routes.Operation {
	return routes.Operation{
		Summary: "Create a tag", Group: routes.GroupTags, Request: exampleNewTag(),
		Notes: "A name that the account, or the group, has already is a 400. Language and numbers of speakers count for " +
			"recordings with this tag that were given none. A tag of a group takes a role that may publish.",
		Answers:  routes.Answers{http.StatusCreated: exampleTagForm()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.NotFound, problems.Conflict, problems.InsufficientPermission},
	}
}

func (a *API) createTag(c echo.Context, p auth.Principal) error {
	var body newTag
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	tag, err := a.recordings.CreateTag(c.Request().Context(), p, recordings.TagEdit{
		Preset:              body.preset(recordings.Edit[string]{Given: true, Value: &body.Name}),
		HoldingEdit:         body.sharingFields.edit(),
		ProtectFromDeletion: edit(body.ProtectFromDeletion),
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, tagFormOf(tag))
}

type tagUpdate struct {
	Name routes.Optional[string] `json:"name" minLength:"1" maxLength:"50" example:"Standup"`
	presetFields
	sharingFields
	ProtectFromDeletion routes.Optional[bool] `json:"protect_from_deletion"`
}

type tagUpdateResult struct {
	Success bool     `json:"success"`
	Tag     basicTag `json:"tag"`
}

func updateTagOperation() routes.Operation {
	return routes.Operation{
		Summary: "Change a tag", Group: routes.GroupTags, Request: exampleTagUpdate(),
		Notes: "What is not named stays. A tag of a group takes a role that may publish, and the scope share where more people " +
			"may come to see recordings. What leaves a group leaves the recordings of others.",
		Answers:  routes.Answers{http.StatusOK: tagUpdateResult{true, basicTagOf(exampleTag())}},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict, problems.InsufficientPermission},
	}
}

func (a *API) updateTag(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "tag")
	if err != nil {
		return err
	}
	var body tagUpdate
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	if body == (tagUpdate{}) {
		return problems.New(problems.InvalidParameter, "The body names nothing to change.")
	}
	tag, err := a.recordings.UpdateTag(c.Request().Context(), p, id, recordings.TagEdit{
		Preset: body.preset(edit(body.Name)), HoldingEdit: body.sharingFields.edit(), ProtectFromDeletion: edit(body.ProtectFromDeletion),
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, tagUpdateResult{true, basicTagOf(tag)})
}

func deleteTagOperation() routes.Operation {
	return routes.Operation{
		Summary: "Delete a tag", Group: routes.GroupTags,
		Notes: "Recordings stay; each that has it changes. When the answer is a failure, some of them may have lost it " +
			"already; asking again goes on from there. A tag of a group takes a role that may publish.",
		Answers:  routes.Answers{http.StatusOK: confirmation{true, tagDeleted}},
		Refusals: []problems.Kind{problems.InsufficientPermission},
	}
}

func (a *API) deleteTag(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "tag")
	if err != nil {
		return err
	}
	if err := a.recordings.DeleteTag(c.Request().Context(), p, id); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, confirmation{true, tagDeleted})
}
