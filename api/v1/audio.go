package v1

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

type audioQuery struct {
	Download *string `query:"download" description:"true sends it as an attachment."`
	Range    *string `header:"Range" description:"One or more ranges of bytes (RFC 9110)."`
}

func sendAudioOperation() routes.Operation {
	audio := routes.File{Types: []string{"audio/*", "video/*", "application/octet-stream"}}
	parts := routes.File{Types: []string{"audio/*", "video/*", "application/octet-stream", "multipart/byteranges"}}
	return routes.Operation{
		Summary: "Play or download the media of a recording", Group: routes.GroupRecordings, Request: audioQuery{},
		Answers: routes.Answers{
			http.StatusOK: audio, http.StatusPartialContent: parts, http.StatusNotModified: routes.Nothing{},
		},
		Refusals: []problems.Kind{problems.RangeNotSatisfiable, problems.StorageUnavailable},
	}
}

func (a *API) sendAudio(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	audio, err := a.recordings.OpenAudio(ctx, p, id)
	if err != nil {
		return err
	}
	defer func() { _ = audio.Close() }()
	return serveAudio(c, audio, id)
}

// serveAudio answers with the file or the ranges of it that were asked for (RFC 9110). The tag is the hash of the
// bytes: a range that continues an older download is of the same file or is not given.
func serveAudio(c echo.Context, audio *recordings.Audio, id int64) error {
	header, request := c.Response().Header(), c.Request().Clone(c.Request().Context())
	// The contract has no 412: these two are for changes.
	request.Header.Del("If-Match")
	request.Header.Del("If-Unmodified-Since")
	header.Set("Accept-Ranges", "bytes")
	switch asked := readRange(request.Header.Get("Range"), audio.Size); {
	case asked == rangeNone:
		request.Header.Del("Range")
	case asked == rangeOutside && appliesTo(request.Header, audio.SHA256):
		header.Set("Content-Range", fmt.Sprintf("bytes */%d", audio.Size))
		return problems.New(problems.RangeNotSatisfiable, "The range lies outside the file of %d bytes.", audio.Size)
	}
	header.Set("ETag", `"`+audio.SHA256+`"`)
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Content-Type", playable(audio.MimeType))
	header.Set("Content-Disposition", disposition(c.QueryParam("download"), audio.Name, id))
	http.ServeContent(c.Response(), request, "", audio.StoredAt, audio)
	return nil
}

// appliesTo reports whether the range counts: not when a condition on the file's tag says that
// the client has the file already, or had another one.
func appliesTo(header http.Header, hash string) bool {
	if known := header.Get("If-None-Match"); known == "*" || strings.Contains(known, `"`+hash+`"`) {
		return false
	}
	condition := header.Get("If-Range")
	return condition == "" || condition == `"`+hash+`"`
}

// What a Range header asks for.
const (
	rangeNone    = iota // nothing that is understood: the whole file
	rangeInside         // at least one range that overlaps the file
	rangeOutside        // ranges, none of which does
)

// readRange judges a Range header before http.ServeContent does, which answers 416 in a form of its own, also to
// units that it does not know and to ranges that are none: RFC 9110 has those ignored.
func readRange(text string, size int64) int {
	list, ok := strings.CutPrefix(text, "bytes=")
	if !ok {
		return rangeNone
	}
	found := rangeNone
	for spec := range strings.SplitSeq(list, ",") {
		if spec = strings.TrimSpace(spec); spec == "" {
			continue
		}
		inside, ok := overlaps(spec, size)
		switch {
		case !ok:
			return rangeNone
		case inside:
			found = rangeInside
		case found == rangeNone:
			found = rangeOutside
		}
	}
	return found
}

// overlaps reads one range, "first-last", "first-" or "-length"; ok is false for what is none.
func overlaps(spec string, size int64) (inside, ok bool) {
	first, last, ok := strings.Cut(spec, "-")
	if !ok || !digits(first) || !digits(last) || first+last == "" {
		return false, false
	}
	if first == "" {
		length, err := strconv.ParseInt(last, 10, 64)
		return err == nil && length > 0 && size > 0, err == nil
	}
	from, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return false, false
	}
	if last != "" {
		if to, err := strconv.ParseInt(last, 10, 64); err != nil || to < from {
			return false, false
		}
	}
	return from < size, true
}

func digits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// playable keeps what a stranger uploaded from being anything but sound or pictures in a browser.
func playable(mimeType string) string {
	if strings.HasPrefix(mimeType, "audio/") || strings.HasPrefix(mimeType, "video/") {
		return mimeType
	}
	return "application/octet-stream"
}

// disposition names the file twice: in ASCII for old clients, and as it is (RFC 6266).
func disposition(download, name string, id int64) string {
	kind := "inline"
	if strings.EqualFold(download, "true") {
		kind = "attachment"
	}
	return fmt.Sprintf("%s; filename=%q; filename*=UTF-8''%s", kind, asciiName(name, id), encoded(name))
}

// asciiName keeps letters, digits and "_.-" of the name; spaces become underscores.
func asciiName(name string, id int64) string {
	extension := path.Ext(name)
	stem := strings.Trim(ascii(strings.TrimSuffix(name, extension)), "._")
	if stem == "" {
		stem = "recording-" + strconv.FormatInt(id, 10)
	}
	return strings.TrimRight(stem+ascii(extension), ".")
}

func ascii(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '_'
		case '0' <= r && r <= '9', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', r == '_', r == '.', r == '-':
			return r
		}
		return -1
	}, text)
}

// encoded is the name in the percent form of RFC 8187.
func encoded(name string) string { return strings.ReplaceAll(url.QueryEscape(name), "+", "%20") }
