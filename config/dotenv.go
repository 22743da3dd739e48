package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

const largestDotenv = 1 << 20 // bytes

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	comment      = regexp.MustCompile(`(?:^|\s)#.*$`)
	reference    = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
)

// readDotenv reads NAME=value lines; a file that does not exist is one without lines. It is read here and not by a
// library because a fault must name its line and must not quote it: the line may hold a secret. Nothing is
// substituted in a value: a "$" in a password is a "$".
func (l *loader) readDotenv(path string) {
	if path == "" {
		return
	}
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		l.fault(path, "", fmt.Sprintf("cannot be read: %v", errors.Unwrap(err)))
		return
	case len(content) > largestDotenv:
		l.fault(path, "", "is larger than 1 MiB")
		return
	}
	for number, line := range strings.Split(strings.TrimPrefix(string(content), "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, problem := dotenvLine(line)
		if problem != "" {
			l.fault(fmt.Sprintf("%s line %d", path, number+1), "", problem)
			continue
		}
		if reference.MatchString(value) {
			l.warn(name, fmt.Sprintf("%s holds a ${…}, which is not replaced", path))
		}
		l.values[name] = clean(value)
	}
}

func dotenvLine(line string) (name, value, problem string) {
	name, value, found := strings.Cut(strings.TrimPrefix(line, "export "), "=")
	name = strings.TrimSpace(name)
	if !found || !variableName.MatchString(name) {
		return "", "", "is not NAME=value"
	}
	quoted := strings.TrimLeft(value, " \t")
	if quoted == "" || (quoted[0] != '\'' && quoted[0] != '"') {
		return name, comment.ReplaceAllString(value, ""), ""
	}
	value, rest, closed := unquote(quoted)
	if !closed {
		return "", "", "has a quote that is not closed on its line"
	}
	if strings.TrimSpace(comment.ReplaceAllString(rest, "")) != "" {
		return "", "", "has text behind the closing quote"
	}
	return name, value, ""
}

// unquote splits text that opens with a quote into what is quoted and what follows. Between double quotes a backslash
// takes away the meaning of a double quote, a backslash and a dollar sign; between single quotes all is literal.
func unquote(text string) (value, rest string, closed bool) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return b.String(), text[i+1:], true
		case c == '\\' && quote == '"' && i+1 < len(text) && strings.IndexByte(`"\$`, text[i+1]) >= 0:
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// clean takes off what copying, editors and `docker run --env-file` leave around a value: white space, quotes and a
// byte-order mark.
func clean(value string) string {
	for {
		trimmed := strings.Trim(strings.TrimSpace(value), "\ufeff\"'")
		if trimmed == value {
			return value
		}
		value = trimmed
	}
}
