package accounts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stenometer/stenometer/problems"
)

const (
	// maxEmail is the longest address that mail can be sent to, in characters.
	maxEmail    = 254
	maxUsername = 80
)

// foldEmail is the form in which an address is stored and looked up.
func foldEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// emailOf folds and judges an address. Whether mail arrives there only a mail can tell.
func emailOf(email string) (string, error) {
	email = foldEmail(email)
	local, domain, _ := strings.Cut(email, "@")
	if utf8.RuneCountInString(email) > maxEmail || local == "" || domain == "" || strings.Contains(domain, "@") ||
		!printable(email) || strings.Contains(email, " ") {
		return "", problems.New(problems.InvalidParameter,
			"email must be an address like name@example.com of at most %d characters.", maxEmail)
	}
	return email, nil
}

// usernameOf trims and judges a name. Without @ it is never taken for somebody's address.
func usernameOf(username string) (string, error) {
	username = strings.TrimSpace(username)
	length := utf8.RuneCountInString(username)
	if length < 1 || length > maxUsername || !printable(username) || strings.Contains(username, "@") {
		return "", problems.New(problems.InvalidParameter,
			"username must have 1 to %d printable characters without @.", maxUsername)
	}
	return username, nil
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
