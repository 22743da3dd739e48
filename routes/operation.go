package routes

import "github.com/stenometer/stenometer/problems"

// Operation is what the API's document says of a row. Request and answers are the very types that the handler
// decodes and encodes, so that the document cannot tell of others; a test holds every answer against it.
type Operation struct {
	// Summary is one line in the imperative: "List recordings".
	Summary string
	// Notes say what the types cannot: Markdown, may be empty.
	Notes string
	// Group is the heading that the row stands under.
	Group Group
	// Request is a struct value whose fields are tagged query, header, formData or json. Bounds stand as tags
	// (maxLength, minimum, maximum, maxItems, enum) and are those that DecodeJSON keeps. nil when there is nothing
	// but the path, whose parameters are ids and are added by themselves. A JSON body that is not the zero value of
	// its type is the document's example of it.
	Request any
	// Answers are the types of the successes by status: a struct, slice or map value, a File, or Nothing. What is not
	// the zero value of its type is the document's example.
	Answers Answers
	// Refusals are kinds of failure of this row besides those of its door.
	Refusals []problems.Kind
}

// Answers are types by status.
type Answers map[int]any

// File is an answer that isn't JSON.
type File struct {
	// Types are the media types that it can have.
	Types []string
}

// OneOf is an answer that has one of several types, of which the first may be an example. The last may be a File.
type OneOf []any

// Nothing is an answer without a body.
type Nothing struct{}

// Group is a heading of the document.
type Group string

// The headings, in the order in which the document shows them.
const (
	GroupRecordings   Group = "Recordings"
	GroupTranscript   Group = "Transcripts"
	GroupProcessing   Group = "Processing"
	GroupSearch       Group = "Search and changes"
	GroupTags         Group = "Tags"
	GroupFolders      Group = "Folders"
	GroupSpeakers     Group = "Speakers"
	GroupReferences   Group = "External references"
	GroupShares       Group = "Public links"
	GroupSharing      Group = "Sharing within the organization"
	GroupEvents       Group = "Events"
	GroupIntegrations Group = "Integrations"
	GroupWebhooks     Group = "Webhooks"
	GroupTokens       Group = "API tokens"
	GroupAccount      Group = "Account"
	GroupOrganization Group = "Organization"
	GroupOpenAI       Group = "OpenAI clients"
	GroupServer       Group = "Server"

	GroupAdministration Group = "Administration"
)

// groups lists the headings in their order.
func groups() []Group {
	return []Group{
		GroupRecordings, GroupTranscript, GroupProcessing, GroupSearch, GroupTags, GroupFolders, GroupSpeakers,
		GroupReferences, GroupShares, GroupSharing, GroupEvents, GroupOpenAI, GroupIntegrations, GroupWebhooks, GroupTokens, GroupAccount, GroupOrganization, GroupServer, GroupAdministration,
	}
}
