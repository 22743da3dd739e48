package llm

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxText bounds an answer in bytes, maxModel the name of who gave it.
	maxText  = 1 << 20
	maxModel = 200
)

// answer makes a completion fit to show: valid, bounded text without control characters, without what the model only
// thought, and without links that it made up. A completion of which nothing is left is an error. Verbatim it is only bounded.
func (a *Adapter) answer(completion Completion, request Request) (Answer, error) {
	text, cut := completion.Text, completion.Cut
	if !request.Verbatim {
		text = withoutThoughts(plain(text))
	}
	if len(text) > maxText {
		text, cut = whole(text[:maxText]), true
	}
	if !request.Verbatim {
		text = fit(text, request)
	}
	return a.answered(text, cut, completion, request)
}

// answered is an answer, unless there is nothing in it. Calls are one; where no tool was offered, there are none.
func (a *Adapter) answered(text string, cut bool, completion Completion, request Request) (Answer, error) {
	answer := Answer{Text: text, Model: cmp.Or(modelName(completion.Model), a.Describe().Model), Cut: cut}
	if len(request.Tools) > 0 {
		answer.Calls = fitCalls(completion.Calls, request)
	}
	switch {
	case strings.TrimSpace(text) != "", len(answer.Calls) > 0, request.Verbatim && (text != "" || cut):
		return answer, nil
	case cut:
		return Answer{}, unreadable("used up all of its tokens before there was any text")
	}
	return Answer{}, unreadable("is empty")
}

// fitCalls leaves in arguments only addresses that were given: what a look-up repeats of them would else make any address
// one that was given.
func fitCalls(calls []ToolCall, request Request) []ToolCall {
	if request.Verbatim {
		return calls
	}
	given := addressesIn(request.Messages)
	for i, call := range calls {
		if json.Valid([]byte(call.Arguments)) {
			calls[i].Arguments = eachText(call.Arguments, func(text string) string { return given.only(plain(text)) })
		}
	}
	return calls
}

// fit leaves of a text what may be shown, and of JSON each of its texts.
func fit(text string, request Request) string {
	given := addressesIn(request.Messages)
	shown := func(text string) string { return paragraphs(given.only(paragraphs(text))) }
	if object, found := jsonIn(text); request.JSON && found {
		return eachText(object, func(text string) string { return shown(plain(text)) })
	}
	return shown(text)
}

// plain is valid UTF-8 without control characters, and without marks that are not seen but could stand in the middle of
// an address until somebody takes them out; line ends and tabs stay.
func plain(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\uFEFF':
			return -1
		}
		return r
	}, text)
}

// withoutThoughts takes out <think> and <thinking> blocks, those that never end and those whose beginning stood in the
// prompt included.
func withoutThoughts(text string) string {
	var kept strings.Builder
	thinking := false
	for {
		at, length, closes := thoughtTag(text)
		if at < 0 {
			break
		}
		switch {
		case closes && !thinking:
			kept.Reset()
		case !closes && !thinking:
			kept.WriteString(text[:at])
		}
		thinking = !closes
		text = text[at+length:]
	}
	if !thinking {
		kept.WriteString(text)
	}
	return kept.String()
}

// thoughtTag finds the next tag that begins or ends a thought; at is -1 when there is none.
func thoughtTag(text string) (at, length int, closes bool) {
	for from := 0; ; {
		open := strings.IndexByte(text[from:], '<')
		if open < 0 {
			return -1, 0, false
		}
		at = from + open
		rest, closes := strings.CutPrefix(text[at+1:min(len(text), at+16)], "/")
		name, _, ended := strings.Cut(rest, ">")
		if ended && (strings.EqualFold(name, "think") || strings.EqualFold(name, "thinking")) {
			length = len("<") + len(name) + len(">")
			if closes {
				length++
			}
			return at, length, closes
		}
		from = at + 1
	}
}

// paragraphs has at most one empty line in a row, and no white space around it.
func paragraphs(text string) string {
	var kept strings.Builder
	ends := 0
	for i := range len(text) {
		if text[i] != '\n' {
			ends = 0
		} else if ends++; ends > 2 {
			continue
		}
		kept.WriteByte(text[i])
	}
	return strings.TrimSpace(kept.String())
}

// whole drops the rest of a character that was cut in two.
func whole(text string) string {
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}

// modelName is a name that can be shown, or none.
func modelName(name string) string {
	if len(name) > maxModel || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return ""
	}
	return strings.TrimSpace(name)
}
