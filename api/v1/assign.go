package v1

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

type recordingSpeaker struct {
	Label          string  `json:"label"`
	IdentifiedName *string `json:"identified_name"`
	SpeakerID      *int64  `json:"speaker_id"`
	Email          *string `json:"email"`
	SegmentCount   int64   `json:"segment_count"`
}

type speakerSuggestion struct {
	SpeakerID  int64   `json:"speaker_id"`
	Name       string  `json:"name"`
	Similarity float64 `json:"similarity"`
}

// recordingSpeakerList has no suggestions in this release, which knows no voice profiles.
type recordingSpeakerList struct {
	Speakers    []recordingSpeaker             `json:"speakers"`
	Suggestions map[string][]speakerSuggestion `json:"suggestions"`
}

func listVoicesOperation() routes.Operation {
	return routes.Operation{
		Summary: "List the speakers of a recording", Group: routes.GroupSpeakers, Request: ifNoneMatch{},
		Notes:   "One entry for each person, in the order in which they are first heard; none in a plain transcript.",
		Answers: routes.Answers{http.StatusOK: exampleRecordingSpeakers(), http.StatusNotModified: routes.Nothing{}},
	}
}

func (a *API) listVoices(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	voices, err := a.recordings.Voices(c.Request().Context(), p, id)
	if err != nil {
		return err
	}
	list := recordingSpeakerList{Speakers: make([]recordingSpeaker, len(voices.List)), Suggestions: map[string][]speakerSuggestion{}}
	for i, v := range voices.List {
		list.Speakers[i] = recordingSpeaker{v.Label, v.Name, v.SpeakerID, v.Email, v.Segments}
	}
	return answerTagged(c, tagSpeakers, id, voices.UpdatedAt, list)
}

// speakerMap is an object of labels, whose order counts: the participants of a plain transcript stand in it.
type speakerMap []recordings.Assignment

// JSONSchemaBytes describes it for the API's document.
func (speakerMap) JSONSchemaBytes() ([]byte, error) {
	return []byte(`{"type":"object","description":"Names by label, of at most 100 characters without the white space around them. An object with isMe is the caller; a blank name leaves the voice as it is.",
		"maxProperties":100,"additionalProperties":{"oneOf":[{"type":"string"},
		{"type":"object","properties":{"name":{"type":["string","null"]},"isMe":{"type":["boolean","null"]}}}]},
		"examples":[{"SPEAKER_00":"Ada","SPEAKER_01":{"name":"Grace"}}]}`), nil
}

// MarshalJSON writes it as a client would, for the example.
func (m speakerMap) MarshalJSON() ([]byte, error) {
	names := make(map[string]string, len(m))
	for _, one := range m {
		names[one.Label] = one.Name
	}
	return json.Marshal(names)
}

// UnmarshalJSON takes a name, or an object with one, for each label. Of a label sent twice the last counts.
func (m *speakerMap) UnmarshalJSON(raw []byte) error {
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if opened, err := decoder.Token(); err != nil || opened != json.Delim('{') {
		return notThis()
	}
	read := speakerMap{}
	at := map[string]int{}
	for decoder.More() {
		label, err := decoder.Token()
		if err != nil {
			return err
		}
		name := assignedName{}
		if err := decoder.Decode(&name); err != nil {
			return err
		}
		one := recordings.Assignment{Label: label.(string), Name: name.Name, IsMe: name.IsMe} //nolint:errcheck,forcetypeassert // keys are strings
		i, again := at[one.Label]
		if again {
			read[i] = one
			continue
		}
		at[one.Label] = len(read)
		read = append(read, one)
	}
	*m = read
	return nil
}

// assignedName is a name, or an object with it.
type assignedName struct {
	Name string `json:"name"`
	IsMe bool   `json:"isMe"`
}

func (n *assignedName) UnmarshalJSON(raw []byte) error {
	type object assignedName
	switch {
	case raw[0] == '"':
		return json.Unmarshal(raw, &n.Name)
	case raw[0] == '{':
		return json.Unmarshal(raw, (*object)(n))
	}
	return notThis()
}

// notThis is the decoder's own error, so that the field is named.
func notThis() error { return &json.UnmarshalTypeError{Value: "value"} }

type speakerAssignment struct {
	onlyIfMatch
	SpeakerMap        speakerMap `json:"speaker_map" required:"true" nullable:"false"`
	RegenerateSummary *bool      `json:"regenerate_summary" description:"Needs the scope process besides."`
}

type assignedRecording struct {
	ID           int64   `json:"id"`
	Title        *string `json:"title"`
	Participants *string `json:"participants"`
	Status       string  `json:"status"`
}

type speakerAssignmentResult struct {
	Success           bool              `json:"success"`
	Message           string            `json:"message"`
	Recording         assignedRecording `json:"recording"`
	SummaryQueued     bool              `json:"summary_queued"`
	EmbeddingsUpdated int               `json:"embeddings_updated"`
	SnippetsCreated   int               `json:"snippets_created"`
}

func assignSpeakersOperation() routes.Operation {
	return routes.Operation{
		Summary: "Assign names to the speakers of a recording", Group: routes.GroupSpeakers, Request: exampleSpeakerAssignment(),
		Notes: "A label is what the transcript calls a speaker, or what the engine called it; one that is neither names nobody. " +
			"In a plain transcript labels stand in square brackets. The names are saved as speakers, and become the participants. " +
			"With `regenerate_summary` a new summary is queued with the names; `summary_queued` is false where none can be made now: " +
			"the recording is being processed, or says too little. The names count all the same.",
		Answers:  routes.Answers{http.StatusOK: exampleSpeakerAssignmentResult()},
		Refusals: []problems.Kind{problems.InvalidParameter, problems.Conflict, problems.PreconditionFailed, problems.InsufficientPermission},
	}
}

func (a *API) assignSpeakers(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	match, err := ifMatch(c, id)
	if err != nil {
		return err
	}
	var body speakerAssignment
	if err := routes.DecodeJSON(c, &body); err != nil {
		return err
	}
	summarize := body.RegenerateSummary != nil && *body.RegenerateSummary
	if summarize {
		if err := p.Require(auth.Write, auth.Process); err != nil {
			return err
		}
	}
	recording, queued, err := a.recordings.AssignSpeakers(c.Request().Context(), p, id, match, body.SpeakerMap, summarize)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, speakerAssignmentResult{
		Success: true, Message: speakersAssigned,
		Recording:     assignedRecording{recording.ID, recording.Title, recording.Participants, recording.Status},
		SummaryQueued: queued,
	})
}
