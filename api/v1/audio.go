package v1

import (
	"context"
	"net/http"
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
		Notes: "Where the server's files are in S3 and it is set to AUDIO_REDIRECT, the answer is 302 to the storage: an " +
			"address that gives the file to anybody for a minute.",
		Answers: routes.Answers{
			http.StatusOK: audio, http.StatusPartialContent: parts, http.StatusFound: routes.Nothing{},
			http.StatusNotModified: routes.Nothing{},
		},
		Refusals: []problems.Kind{problems.RangeNotSatisfiable, problems.StorageUnavailable},
	}
}

func (a *API) sendAudio(c echo.Context, p auth.Principal) error {
	id, err := routes.IDParam(c, "recording")
	if err != nil {
		return err
	}
	attachment := strings.EqualFold(c.QueryParam("download"), "true")
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	if c.Request().Method == http.MethodGet { // an address is signed for its method
		address, err := a.recordings.AudioAddress(ctx, p, id, func(audio recordings.Audio) (disposition, mimeType string) {
			media := mediaOf(audio, id, attachment)
			return media.Disposition(), media.Type()
		})
		if err != nil {
			return err
		}
		if address != "" {
			// Kept, it would outlive the minute, and the right to see the recording.
			c.Response().Header().Set("Cache-Control", "no-store")
			return c.Redirect(http.StatusFound, address)
		}
	}
	audio, err := a.recordings.OpenAudio(ctx, p, id)
	if err != nil {
		return err
	}
	defer func() { _ = audio.Close() }()
	return routes.SendMedia(c, mediaOf(*audio, id, attachment))
}

func mediaOf(audio recordings.Audio, id int64, attachment bool) routes.Media {
	return routes.Media{
		ReadSeeker: audio.ReadSeekCloser, Size: audio.Size, Name: audio.Name, Fallback: "recording-" + strconv.FormatInt(id, 10),
		MimeType: audio.MimeType, SHA256: audio.SHA256, StoredAt: audio.StoredAt, Attachment: attachment,
		CacheControl: "private, no-cache",
	}
}
