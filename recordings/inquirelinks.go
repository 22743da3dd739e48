package recordings

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/stenometer/stenometer/llm"
)

// Citation is a moment of a recording that an answer names.
type Citation struct {
	N           int
	RecordingID int64
	Title       *string
	// Start is in seconds, nil where the whole recording is named.
	Start *float64
	URL   string
}

// ownLink is a link into this server, as prompts have it and models copy it.
var ownLink = regexp.MustCompile(`!?\[([^\[\]\n]*)\]\((/recordings/[^()\s]*)\)`)

// linkTo is a Markdown link to a moment of a recording: to the second, so that it is short and copied without a fault.
func linkTo(id int64, text string, start *float64) string {
	return "[" + text + "](" + addressOf(id, start) + ")"
}

func addressOf(id int64, start *float64) string {
	address := "/recordings/" + strconv.FormatInt(id, 10)
	if start == nil || !(*start >= 0) {
		return address
	}
	return address + "?t=" + strconv.FormatFloat(math.Floor(*start), 'f', -1, 64)
}

// nameOf is a recording's title as the text of a link: without brackets, which would end it early.
func nameOf(id int64, title *string) string {
	name := strings.Join(strings.Fields(given(title)), " ")
	if name == "" {
		return "Recording " + strconv.FormatInt(id, 10)
	}
	return strings.NewReplacer("[", "(", "]", ")", `\`, "/").Replace(name)
}

// shown are the titles of the recordings that a model was shown, by which the links of its answer are judged: it may name
// another recording only by a fault, or because somebody talked it into that.
type shown map[int64]*string

// link shows a recording and is the link to it.
func (s shown) link(of candidate, start *float64) string {
	s[of.ID] = of.Title
	return linkTo(of.ID, nameOf(of.ID, of.Title), start)
}

// read gives what a link names; ok is false of what no model was shown.
func (s shown) read(address string) (id int64, start *float64, ok bool) {
	path, query, timed := strings.Cut(strings.TrimPrefix(address, "/recordings/"), "?")
	id, err := strconv.ParseInt(path, 10, 64)
	if _, known := s[id]; err != nil || !known {
		return 0, nil, false
	}
	if !timed {
		return id, nil, true
	}
	number, found := strings.CutPrefix(query, "t=")
	seconds, err := strconv.ParseFloat(number, 64)
	if !found || err != nil || !(seconds >= 0) || math.IsInf(seconds, 0) {
		return 0, nil, false
	}
	return id, &seconds, true
}

// keep leaves a text its links to what was shown, and of others their words.
func (s shown) keep(text string) string {
	return ownLink.ReplaceAllStringFunc(text, func(link string) string {
		parts := ownLink.FindStringSubmatch(link)
		if _, _, ok := s.read(parts[2]); ok {
			return link
		}
		return parts[1]
	})
}

// cite makes numbers of the links, by their first use.
func (s shown) cite(text string) (string, []Citation) {
	cited, numbers := []Citation{}, map[string]int{}
	text = ownLink.ReplaceAllStringFunc(text, func(link string) string {
		parts := ownLink.FindStringSubmatch(link)
		id, start, ok := s.read(parts[2])
		if !ok {
			return parts[1]
		}
		address := addressOf(id, start)
		if numbers[address] == 0 {
			numbers[address] = len(cited) + 1
			cited = append(cited, Citation{N: len(cited) + 1, RecordingID: id, Title: s[id], Start: start, URL: address})
		}
		return "[" + strconv.Itoa(numbers[address]) + "]"
	})
	return text, cited
}

// startOf is when a stretch begins, nil where it has no times.
func startOf(passages []llm.Passage) *float64 {
	for _, passage := range passages {
		if passage.Start != nil {
			return passage.Start
		}
	}
	return nil
}
