package v1

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

// appliedTag is a tag on a recording whose name the caller may not be allowed to read.
type appliedTag struct {
	ID    int64   `json:"id"`
	Name  *string `json:"name"`
	Color string  `json:"color"`
}

type addedTag struct {
	ID   int64   `json:"id"`
	Name *string `json:"name"`
}

// nameOf is the name of a mark; no tag is called nothing, so that nothing is a name which may not be read.
func nameOf(mark recordings.TagMark) *string {
	if mark.Name == "" {
		return nil
	}
	return &mark.Name
}

type tagAddition struct {
	TagIDs []int64 `json:"tag_ids" nullable:"true" maxItems:"100"`
	TagID  *int64  `json:"tag_id" description:"Counts when tag_ids is absent or empty."`
}

type tagAdditionResult struct {
	Success   bool       `json:"success"`
	AddedTags []addedTag `json:"added_tags"`
	Errors    *[]string  `json:"errors"`
}

func addTagsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Add tags to a recording", Group: routes.GroupTags, Request: tagAddition{TagIDs: []int64{3}},
		Notes: "After those that it has, in the order given; those that it has already are passed over. Tags that do " +
			"not exist, and those beyond 100 on the recording, are told in `errors`, null when there are none; the others " +
			"are added.",
		Answers:  routes.Answers{http.StatusOK: exampleTagAdditionResult()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.InsufficientPermission},
	}
}

func (a *API) addTags(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	var body tagAddition
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	ids := body.TagIDs
	if len(ids) == 0 && body.TagID != nil {
		ids = []int64{*body.TagID}
	}
	if len(ids) == 0 {
		return problems.New(problems.InvalidParameter, "tag_ids or tag_id must be given.")
	}
	tagged, err := a.recordings.AddTags(c.Request().Context(), p, id, ids)
	if err != nil {
		return err
	}
	answer := tagAdditionResult{Success: true, AddedTags: make([]addedTag, len(tagged.Added))}
	for i, tag := range tagged.Added {
		answer.AddedTags[i] = addedTag{tag.ID, nameOf(tag)}
	}
	var missed []string
	for _, tag := range tagged.Unknown {
		missed = append(missed, fmt.Sprintf("There is no tag %d.", tag))
	}
	for _, tag := range tagged.TooMany {
		missed = append(missed, fmt.Sprintf("Tag %d was not added: the recording has as many as it may.", tag))
	}
	if missed != nil {
		answer.Errors = &missed
	}
	return c.JSON(http.StatusOK, answer)
}

type tagReplacement struct {
	onlyIfMatch
	TagIDs []int64 `json:"tag_ids" required:"true" maxItems:"100" description:"An empty list takes all tags off."`
}

type tagReplacementResult struct {
	Tags    []appliedTag `json:"tags"`
	Added   []int64      `json:"added"`
	Removed []int64      `json:"removed"`
}

func replaceTagsOperation() routes.Operation {
	return routes.Operation{
		Summary: "Replace the tags of a recording", Group: routes.GroupTags, Request: tagReplacement{TagIDs: []int64{3}},
		Notes: "In the order given; an id named twice counts where it stands first. When tags do not exist nothing is " +
			"changed, and the answer lists them in `tag_ids`.",
		Answers:  routes.Answers{http.StatusOK: exampleTagReplacementResult()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.PreconditionFailed, problems.InsufficientPermission},
	}
}

func (a *API) replaceTags(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	var body tagReplacement
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	match, err := ifMatch(c, id)
	if err != nil {
		return err
	}
	changed, err := a.recordings.ReplaceTags(c.Request().Context(), p, id, match, body.TagIDs)
	if err != nil {
		return err
	}
	answer := tagReplacementResult{
		Tags: make([]appliedTag, len(changed.Tags)), Added: append([]int64{}, changed.Added...), Removed: append([]int64{}, changed.Removed...),
	}
	for i, tag := range changed.Tags {
		answer.Tags[i] = appliedTag{tag.ID, nameOf(tag), tag.Color}
	}
	return c.JSON(http.StatusOK, answer)
}

func removeTagOperation() routes.Operation {
	return routes.Operation{
		Summary: "Remove a tag from a recording", Group: routes.GroupTags, Answers: routes.Answers{http.StatusOK: confirmation{true, tagRemoved}},
		Refusals: []problems.Kind{problems.InsufficientPermission},
	}
}

func (a *API) removeTag(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	tag, err := routes.IDParam(c, "tag")
	if err != nil {
		return err
	}
	if err := a.recordings.RemoveTag(c.Request().Context(), p, id, tag); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, confirmation{true, tagRemoved})
}
