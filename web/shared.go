// Package web has the pages that the server renders itself.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

//go:embed assets/share.html
var pageText string

//go:embed assets/share.css
var styleText string

// pageRules let the page have its own style, known by its hash, and sound from this server; no script, no form, no
// frame. What is shown was spoken and written by people and models: were any of it ever not escaped, it still could
// not run.
const pageRules = "default-src 'none'; media-src 'self'; style-src '%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Pages serves what whoever has a public link sees, and the pages on which people get into their accounts.
type Pages struct {
	recordings   *recordings.Recordings
	page         *template.Template
	rules        string
	account      *template.Template
	accountRules string
	issuer       string
	mail         bool
}

// Options is what the pages are made of.
type Options struct {
	// Recordings are shown to whoever has a public link.
	Recordings *recordings.Recordings
	// Issuer is what an issuer of OpenID Connect calls itself; empty where people sign in by password alone.
	Issuer string
	// Mail is whether a forgotten password is mailed a link.
	Mail bool
}

// New makes the pages.
func New(o Options) *Pages {
	return &Pages{
		recordings: o.Recordings, page: template.Must(template.New("share").Parse(pageText)), rules: fmt.Sprintf(pageRules, hashOf(styleText)),
		account: template.Must(template.New("account").Parse(accountText)), accountRules: fmt.Sprintf(accountRules, hashOf(accountStyle)),
		issuer: hostOf(o.Issuer), mail: o.Mail,
	}
}

// hashOf is how a page's rules name its style.
func hashOf(style string) string {
	hash := sha256.Sum256([]byte(style))
	return "sha256-" + base64.StdEncoding.EncodeToString(hash[:])
}

const forStrangers = "whoever has a link needs no account"

// Declare adds the rows.
func (w *Pages) Declare(t *routes.Table) {
	t.Public("GET", "/share/:link", forStrangers, w.showShared, showSharedOperation())
	t.Public("GET", "/share/:link/audio", forStrangers, w.sendShared, sendSharedOperation(), routes.LongAnswer())
	w.declareAccount(t)
}

// linkPath is a public link as it stands in the path.
type linkPath struct {
	Link string `path:"link" json:"-" minLength:"22" maxLength:"22" pattern:"^[A-Za-z0-9_-]{22}$" description:"What a public link ends with."`
}

func showSharedOperation() routes.Operation {
	return routes.Operation{
		Summary: "Show a recording to whoever has its public link", Group: routes.GroupShares, Request: linkPath{},
		Answers:  routes.Answers{http.StatusOK: routes.File{Types: []string{"text/html"}}},
		Refusals: []problems.Kind{problems.NotFound},
	}
}

// shared is what the page shows.
type shared struct {
	Title          string
	Date           time.Time
	Audio          string
	Summary, Notes string
	Lines          []line
	Text           string
	Style          template.CSS
}

// line is one utterance.
type line struct{ At, Speaker, Text string }

func (w *Pages) showShared(c echo.Context) error {
	link := c.Param("link")
	found, err := w.recordings.Shared(c.Request().Context(), link)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := w.page.Execute(&page, sharedOf(found, link)); err != nil {
		return fmt.Errorf("write the page of a public link: %w", err)
	}
	keepToItself(c.Response().Header())
	c.Response().Header().Set("Content-Security-Policy", w.rules)
	return c.Blob(http.StatusOK, "text/html; charset=utf-8", page.Bytes())
}

// keepToItself keeps an answer out of caches, where it would outlive its link, and the link, which is the secret, out
// of what other sites are told.
func keepToItself(header http.Header) {
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
}

func sharedOf(found recordings.Shared, link string) shared {
	page := shared{
		Title: "Recording", Date: found.Date, Summary: text(found.Summary), Notes: text(found.Notes), Text: found.Text,
		Style: template.CSS(styleText), //nolint:gosec // our own file, not a caller's words
	}
	if title := strings.TrimSpace(text(found.Title)); title != "" {
		page.Title = title
	}
	if found.HasAudio {
		page.Audio = link + "/audio" // from the page on: a proxy may show the server below a path
	}
	for _, segment := range found.Segments {
		page.Lines = append(page.Lines, line{At: clock(segment.Start), Speaker: text(segment.Speaker), Text: segment.Text})
	}
	return page
}

// clock is a place in a recording, such as 4:05 or 1:04:05; empty where it is not known.
func clock(seconds *float64) string {
	if seconds == nil {
		return ""
	}
	whole := int(max(0, *seconds))
	if whole < 3600 {
		return fmt.Sprintf("%d:%02d", whole/60, whole%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", whole/3600, whole/60%60, whole%60)
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

// sharedAudio is what a player asks with.
type sharedAudio struct {
	Link  string  `path:"link" json:"-" minLength:"22" maxLength:"22" pattern:"^[A-Za-z0-9_-]{22}$" description:"What a public link ends with."`
	Range *string `header:"Range" json:"-" description:"One or more ranges of bytes (RFC 9110)."`
}

func sendSharedOperation() routes.Operation {
	audio := []string{"audio/*", "video/*", "application/octet-stream"}
	return routes.Operation{
		Summary: "Play the media of a recording to whoever has its public link", Group: routes.GroupShares, Request: sharedAudio{},
		Answers: routes.Answers{
			http.StatusOK:             routes.File{Types: audio},
			http.StatusPartialContent: routes.File{Types: append([]string{"multipart/byteranges"}, audio...)},
			http.StatusNotModified:    routes.Nothing{},
		},
		Refusals: []problems.Kind{problems.NotFound, problems.RangeNotSatisfiable, problems.StorageUnavailable},
	}
}

// sendShared sends the file itself also where the storage could: an address of the storage would outlive the link,
// and the page may play from this server only.
func (w *Pages) sendShared(c echo.Context) error {
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	audio, err := w.recordings.OpenShared(ctx, c.Param("link"))
	if err != nil {
		return err
	}
	defer func() { _ = audio.Close() }()
	keepToItself(c.Response().Header())
	return routes.SendMedia(c, routes.Media{
		ReadSeeker: audio.ReadSeekCloser, Size: audio.Size, Name: audio.Name, Fallback: "recording", MimeType: audio.MimeType,
		SHA256: audio.SHA256, StoredAt: audio.StoredAt, CacheControl: "no-store",
	})
}
