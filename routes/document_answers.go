package routes

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
)

// problem is every refusal. Members besides error and code are there where the code has them.
type problem struct {
	Error string `json:"error" description:"For people; it may change."`
	Code  string `json:"code" description:"For programs; it does not."`

	Field *string `json:"field,omitempty"`
	told
}

// openAIProblem is every refusal on OpenAI's wire, in the object that its clients read.
type openAIProblem struct {
	Error openAIError `json:"error"`
}

type openAIError struct {
	Message string  `json:"message" description:"For people; it may change."`
	Type    string  `json:"type" description:"Whose fault it is, in OpenAI's words."`
	Param   *string `json:"param" description:"The field that it is about."`
	Code    string  `json:"code" description:"For programs; it does not change."`
	told
}

// told is what a refusal may tell besides, on either wire.
type told struct {
	MaxLength          *int             `json:"max_length,omitempty"`
	MaxParts           *int             `json:"max_parts,omitempty"`
	MaxFieldBytes      *int             `json:"max_field_bytes,omitempty"`
	MaxIDs             *int             `json:"max_ids,omitempty"`
	MaxTokens          *int             `json:"max_tokens,omitempty"`
	MaxItems           *int             `json:"max_items,omitempty"`
	MaxPerUser         *int             `json:"max_per_user,omitempty"`
	Allowed            []string         `json:"allowed,omitempty" description:"The values that the field may have."`
	Reason             *string          `json:"reason,omitempty" description:"Why an address is not called."`
	MaxInputChars      *int             `json:"max_input_chars,omitempty"`
	MaxSeconds         *float64         `json:"max_seconds,omitempty"`
	MaxSizeMB          *float64         `json:"max_size_mb,omitempty"`
	EffectiveLimitMB   *float64         `json:"effective_limit_mb,omitempty"`
	AudioOnlyMode      *bool            `json:"audio_only_mode,omitempty"`
	RequiredScopes     []string         `json:"required_scopes,omitempty"`
	TokenScopes        []string         `json:"token_scopes,omitempty"`
	RequiredPermission *string          `json:"required_permission,omitempty"`
	Limit              *exhaustedLimit  `json:"limit,omitempty"`
	RetryAfter         *int             `json:"retry_after,omitempty"`
	Ignored            *IgnoredOnUpload `json:"ignored,omitempty"`
	TagIDs             []any            `json:"tag_ids,omitempty"`
	Spent              *float64         `json:"spent,omitempty" description:"Of budget_exceeded, like the five that follow: what the month's budget has spent."`
	Held               *float64         `json:"held,omitempty"`
	Budget             *float64         `json:"budget,omitempty"`
	Unit               *string          `json:"unit,omitempty"`
	Scope              *string          `json:"scope,omitempty" description:"Whose budget it is: organization or account."`
	ResetsAt           *string          `json:"resets_at,omitempty"`
	RequestID          *string          `json:"request_id,omitempty"`
}

// exhaustedLimit is the limit that a request ran into.
type exhaustedLimit struct {
	Name          string `json:"name"`
	Scope         string `json:"scope"`
	Limit         int64  `json:"limit"`
	WindowSeconds *int64 `json:"window_seconds,omitempty" description:"Absent of a limit of what is open at once."`
}

// IgnoredOnUpload is what an upload named and the account has not: passed over, or with strict the reason of the refusal.
type IgnoredOnUpload struct {
	TagIDs   []any `json:"tag_ids"`
	FolderID any   `json:"folder_id"`
}

// addAnswers describes the successes of a row; the first type of a OneOf has the example.
func addAnswers(context openapi.OperationContext, row Row) error {
	if row.Streams {
		context.AddRespStructure(nil, openapi.WithHTTPStatus(http.StatusOK), openapi.WithContentType("text/event-stream"))
	}
	for _, status := range slices.Sorted(maps.Keys(row.Operation.Answers)) {
		switch answer := row.Operation.Answers[status].(type) {
		case Nothing:
			context.AddRespStructure(nil, openapi.WithHTTPStatus(status))
		case File:
			if err := addFile(context, status, answer); err != nil {
				return err
			}
		case OneOf:
			if file, last := answer[len(answer)-1].(File); last {
				if err := addFile(context, status, file); err != nil {
					return err
				}
				answer = answer[:len(answer)-1]
			}
			context.AddRespStructure(oneOf{answer}, openapi.WithHTTPStatus(status), answerExample(answer[0]))
		default:
			context.AddRespStructure(answer, openapi.WithHTTPStatus(status), answerExample(answer))
		}
	}
	return nil
}

func addFile(context openapi.OperationContext, status int, file File) error {
	if len(file.Types) == 0 {
		return fmt.Errorf("the file of %d has no media type", status)
	}
	for _, media := range file.Types {
		context.AddRespStructure(nil, openapi.WithHTTPStatus(status), openapi.WithContentType(media))
	}
	return nil
}

const jsonType = "application/json"

// addRefusals describes the refusals by status: those of the door, of the row's limits, and the row's own.
func (d *document) addRefusals(context openapi.OperationContext, row Row) {
	codes := map[int][]string{}
	for _, kind := range append(doorRefusals(row), row.Operation.Refusals...) {
		if !slices.Contains(codes[kind.Status()], kind.Code()) {
			codes[kind.Status()] = append(codes[kind.Status()], kind.Code())
		}
	}
	form := "Problem"
	if SpeaksOpenAI(row.Path) {
		form = "OpenAIProblem"
	}
	for status, list := range codes {
		if _, success := row.Operation.Answers[status]; success {
			continue // a probe that answers 503 in its own words
		}
		sort.Strings(list)
		context.AddRespStructure(nil, openapi.WithHTTPStatus(status), openapi.WithReference(d.refusal(form, status, list)))
	}
}

// refusal is the shared description of a status with these codes, in one of the two forms.
func (d *document) refusal(form string, status int, codes []string) string {
	name := strconv.Itoa(status) + "." + strings.Join(codes, ".")
	if form != "Problem" {
		name = form + "." + name
	}
	response := openapi31.Response{
		Description: http.StatusText(status) + ". Codes: `" + strings.Join(codes, "`, `") + "`.",
		Content:     map[string]openapi31.MediaType{jsonType: {Schema: map[string]any{"$ref": schemas + form}}},
	}
	d.reflector.SpecEns().ComponentsEns().WithResponsesItem(name, openapi31.ResponseOrReference{Response: &response})
	return "#/components/responses/" + name
}

// doorRefusals are what any row of the door can answer besides its successes.
func doorRefusals(row Row) []problems.Kind {
	kinds := []problems.Kind{
		problems.Internal, problems.Starting, problems.Stopping, problems.DatabaseUnavailable, problems.MethodNotAllowed,
		problems.PayloadTooLarge, problems.UnsupportedMediaType, problems.BadRequest, problems.HeadersTooLarge,
	}
	if !row.TakesFile() && !row.LongAnswer {
		kinds = append(kinds, problems.Timeout)
	}
	if row.SpendsNow() {
		kinds = append(kinds, problems.BudgetExceeded)
	}
	if row.AwaitsModel || row.Door == DoorHearing {
		kinds = append(kinds, problems.ProviderFailed, problems.ProviderUnavailable, problems.ProviderTimeout, problems.ModelUnavailable)
	}
	if row.Streams {
		kinds = append(kinds, problems.StreamLimitReached, problems.StreamSlotLost, problems.FirstByteTimeout, problems.IdleTimeout, problems.TotalTimeout)
	}
	if hasBody(row) {
		kinds = append(kinds, problems.RequestTimeout, problems.StorageFull)
	}
	if strings.Contains(row.Path, "/:") {
		kinds = append(kinds, problems.NotFound)
	}
	if row.AdmitsLate() {
		kinds = append(kinds, problems.InvalidToken, problems.AddressRateLimited, problems.SpoolFull)
	} else if row.Door != DoorPublic {
		kinds = append(kinds, problems.AuthenticationRequired, problems.InvalidToken, problems.AddressRateLimited)
		if hasBody(row) {
			kinds = append(kinds, problems.CrossOrigin)
		}
		if row.Door == DoorAccount || len(scopeNames(row.Scopes)) > 0 {
			kinds = append(kinds, problems.InsufficientScope)
		}
		if row.Needs != (auth.Verb{}) {
			kinds = append(kinds, problems.InsufficientPermission)
		}
	}
	if row.Idempotent {
		kinds = append(kinds, problems.InvalidParameter, problems.IdempotencyInProgress, problems.IdempotencyKeyReused)
	}
	for _, stacked := range append(slices.Clone(row.Stack), row.Taken...) {
		kinds = append(kinds, stacked.Plan.Kind, problems.LimitsUnavailable)
	}
	return kinds
}
