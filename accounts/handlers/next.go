package handlers

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNext is the longest path at which a browser goes on, in bytes.
const maxNext = 500

// localPath is where a browser goes on after it signed in: the path that was asked for if it leads nowhere but here, else
// the beginning. A second slash or a backslash would name another host, and browsers leave out some control characters.
func localPath(next string) string {
	if len(next) > maxNext || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsRune(next, '\\') ||
		!utf8.ValidString(next) || strings.ContainsFunc(next, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		return "/"
	}
	parsed, err := url.Parse(next)
	if err != nil || parsed.Host != "" || parsed.Scheme != "" || parsed.User != nil {
		return "/"
	}
	return next
}

// withNotice is a local path that also tells its page something.
func withNotice(next, notice string) string {
	parsed, err := url.Parse(next)
	if err != nil {
		return "/?notice=" + notice
	}
	query := parsed.Query()
	query.Set("notice", notice)
	parsed.RawQuery = query.Encode()
	return localPath(parsed.String())
}
