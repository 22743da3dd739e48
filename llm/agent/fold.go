package agent

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/stenometer/stenometer/providers"
)

const (
	// foldAbove is the share of the context above which older look-ups are folded up.
	foldAbove = 0.6
	// brim is the share to which results fill it: going over to plain text must still fit.
	brim = 0.97
	// kept is how many of the last messages stay as they are.
	kept = 8
	// headChars is how much of each look-up is remembered.
	headChars = 300
	// memoryShare is the part of the context that the memory may have: one in so many.
	memoryShare = 8
	// leastPart is the least of a result in bytes that is worth telling.
	leastPart = 200
)

// foldIfLong folds up older look-ups of a conversation that is long and takes much of the context.
func (l *loop) foldIfLong() error {
	if l.messages(l.turns) <= kept || l.share() <= foldAbove {
		return nil
	}
	return l.fold(kept)
}

// messages counts those of turns.
func (t *talk) messages(turns []exchange) int {
	count := 0
	for _, turn := range turns {
		if count += 1 + len(turn.calls); t.plain {
			count += len(turn.calls) - 1
		}
	}
	return count
}

// fold makes memory of all turns but the last few: which look-ups there were, and how their results begin. No model is
// asked. The last turn always stays.
func (l *loop) fold(keep int) error {
	at := len(l.turns) - 1
	for at > 0 && l.messages(l.turns[at-1:]) <= keep {
		at--
	}
	if at <= 0 {
		return nil
	}
	for _, turn := range l.turns[:at] {
		for i, call := range turn.calls {
			l.memory = append(l.memory, fmt.Sprintf("- %s %s: %s", call.Name, head(call.Arguments, headChars), turn.heads[i]))
		}
	}
	l.turns = l.turns[at:]
	for len(l.memory) > 1 && utf8.RuneCountInString(strings.Join(l.memory, "\n")) > charsPerToken*l.ContextTokens/memoryShare {
		l.memory = l.memory[1:]
	}
	return l.to.Folded(strings.Join(l.memory, "\n"), l.messages(l.turns))
}

// place tells the model what came of a call of the last turn, as much as fits. When that is not all, older look-ups are
// folded up first; then the context is used up.
func (l *loop) place(i int, f finding) error {
	if l.put(i, f); l.share() <= brim {
		return nil
	}
	if err := l.fold(1); err != nil {
		return err
	}
	if l.share() <= brim {
		return nil
	}
	l.full = true
	whole := f.data
	part := func(length int) finding {
		return finding{f.remarks, strings.ToValidUTF8(whole[:length], "") + fmt.Sprintf("\n[cut: the context holds %d tokens]", l.ContextTokens)}
	}
	length := sort.Search(len(whole), func(length int) bool {
		l.put(i, part(length+1))
		return l.share() > brim
	})
	if length < leastPart {
		l.put(i, finding{remarks: l.words.Skipped()})
		return nil
	}
	l.put(i, part(length))
	return nil
}

func (l *loop) put(i int, f finding) {
	last := &l.turns[len(l.turns)-1]
	last.results[i] = strings.TrimSpace(l.words.Result(f.remarks, f.data))
	last.heads[i] = head(strings.TrimSpace(f.remarks+" "+f.data), headChars)
}

// head is the beginning of a text in one line.
func head(text string, most int) string {
	text = strings.Join(strings.Fields(providers.Cut(text, 2*most)), " ")
	if short := providers.Cut(text, most); short != text {
		return short + "…"
	}
	return text
}
