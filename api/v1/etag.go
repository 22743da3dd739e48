package v1

import (
	"crypto/sha1" //nolint:gosec // names a body, as the contract has it; nothing rests on it
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// The kinds of answer that are tagged: a tag begins with the letter of its kind.
const (
	tagDetail     = "r"
	tagTranscript = "t"
	tagSummary    = "s"
	tagNotes      = "n"
	tagEvents     = "e"
	tagSpeakers   = "k"
)

// ifNoneMatch is what a request for a tagged answer may carry.
type ifNoneMatch struct {
	IfNoneMatch *string `header:"If-None-Match" json:"-" description:"ETags of answers that the caller has; when one of them is the present one, the answer is 304 without a body."`
}

// onlyIfMatch is what a request to change a recording may carry.
type onlyIfMatch struct {
	IfMatch *string `header:"If-Match" json:"-" description:"ETags of the recording; when it was changed since all of them, nothing is done."`
}

// answerTagged answers 200 with the body and its ETag, or 304 when the caller has this very body already. The
// access to the recording has been checked before: no tag tells that something exists.
func answerTagged(c echo.Context, prefix string, id int64, updatedAt time.Time, body any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	encoded = append(encoded, '\n')
	// What the row's moment does not tell, such as a tag that was renamed, the body does.
	sum := sha1.Sum(encoded) //nolint:gosec // as above
	tag := versionOf(prefix, id, updatedAt) + hex.EncodeToString(sum[:8])
	header := c.Response().Header()
	header.Set("ETag", `W/"`+tag+`"`)
	header.Set("Cache-Control", "private, no-cache")
	known, all, wellFormed := entityTags(c.Request().Header.Values("If-None-Match"))
	if wellFormed && (all || slices.Contains(known, tag)) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.JSONBlob(http.StatusOK, encoded)
}

// versionOf is the part of a tag that stays the same until the recording changes.
func versionOf(prefix string, id int64, updatedAt time.Time) string {
	return prefix + strconv.FormatInt(id, 10) + "-" + strconv.FormatInt(updatedAt.UnixMicro(), 10) + "-"
}

// ifMatch is what the request demands of the recording's state: nil when it demands nothing, and when it is content
// with any. The tag of each kind of answer will do, and its body counts for nothing: a folder that was renamed is no
// change of the recording. A header that has no list of tags is refused, lest a change that its sender wanted to be
// conditional were made all the same.
func ifMatch(c echo.Context, id int64) (recordings.Match, error) {
	lines := c.Request().Header.Values("If-Match")
	if len(lines) == 0 {
		return nil, nil //nolint:nilnil // no demand is a nil Match
	}
	known, all, wellFormed := entityTags(lines)
	if !wellFormed {
		return nil, problems.New(problems.PreconditionFailed, "If-Match must be * or a list of ETags as they were answered.")
	}
	if all {
		return nil, nil //nolint:nilnil // as above
	}
	return func(updatedAt time.Time) bool {
		return slices.ContainsFunc(known, func(tag string) bool {
			return slices.ContainsFunc([]string{tagDetail, tagTranscript, tagSummary, tagNotes, tagEvents, tagSpeakers}, func(prefix string) bool {
				return strings.HasPrefix(tag, versionOf(prefix, id, updatedAt))
			})
		})
	}, nil
}

// entityTags reads a list of entity tags as RFC 9110 writes them, weak or not, and gives what stands between the
// quotes. all tells that the list is "*".
func entityTags(lines []string) (tags []string, all, wellFormed bool) {
	rest := strings.Trim(strings.Join(lines, ","), " \t")
	if rest == "*" {
		return nil, true, true
	}
	for {
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" {
			return tags, false, len(tags) > 0
		}
		quoted, opened := strings.CutPrefix(strings.TrimPrefix(rest, "W/"), `"`)
		tag, after, closed := strings.Cut(quoted, `"`)
		if !opened || !closed {
			return nil, false, false
		}
		rest = strings.TrimLeft(after, " \t")
		if rest != "" && rest[0] != ',' {
			return nil, false, false
		}
		tags = append(tags, tag)
	}
}
