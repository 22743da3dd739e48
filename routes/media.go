package routes

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
)

// Media is a stored file of sound or pictures, open for reading at any place.
type Media struct {
	io.ReadSeeker

	Size int64
	// Name is the label under which it is saved; Fallback stands in for one that has nothing in ASCII.
	Name, Fallback string
	MimeType       string
	// SHA256 is lower-case hex.
	SHA256   string
	StoredAt time.Time
	// Attachment is saved rather than played.
	Attachment bool
	// CacheControl is who may keep it.
	CacheControl string
}

// SendMedia answers with the file or the ranges of it that were asked for (RFC 9110). The tag is the hash of the
// bytes: a range that continues an older download is of the same file or is not given.
func SendMedia(c echo.Context, m Media) error {
	header, request := c.Response().Header(), c.Request().Clone(c.Request().Context())
	// The contract has no 412: these two are for changes.
	request.Header.Del("If-Match")
	request.Header.Del("If-Unmodified-Since")
	header.Set("Accept-Ranges", "bytes")
	switch asked := readRange(request.Header.Get("Range"), m.Size); {
	case asked == rangeNone:
		request.Header.Del("Range")
	case asked == rangeOutside && appliesTo(request.Header, m.SHA256):
		header.Set("Content-Range", fmt.Sprintf("bytes */%d", m.Size))
		return problems.New(problems.RangeNotSatisfiable, "The range lies outside the file of %d bytes.", m.Size)
	}
	header.Set("ETag", `"`+m.SHA256+`"`)
	header.Set("Cache-Control", m.CacheControl)
	header.Set("Content-Type", m.Type())
	header.Set("Content-Disposition", m.Disposition())
	http.ServeContent(c.Response(), request, "", m.StoredAt, m)
	return nil
}

// Type keeps what a stranger uploaded from being anything but sound or pictures in a browser.
func (m Media) Type() string {
	if strings.HasPrefix(m.MimeType, "audio/") || strings.HasPrefix(m.MimeType, "video/") {
		return m.MimeType
	}
	return "application/octet-stream"
}

// Disposition names the file twice: in ASCII for old clients, and as it is (RFC 6266).
func (m Media) Disposition() string {
	kind := "inline"
	if m.Attachment {
		kind = "attachment"
	}
	return fmt.Sprintf("%s; filename=%q; filename*=UTF-8''%s", kind, asciiName(m.Name, m.Fallback), encoded(m.Name))
}

// asciiName keeps letters, digits and "_.-" of the name; spaces become underscores.
func asciiName(name, fallback string) string {
	extension := path.Ext(name)
	stem := strings.Trim(ascii(strings.TrimSuffix(name, extension)), "._")
	if stem == "" {
		stem = fallback
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
