package llm

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// lineBytes is what is read of an answer at a time: most chunks are smaller. It grows with the longest line.
const lineBytes = 512

// events takes an answer apart that comes as server-sent events. The library's own decoder keeps eight times as much for
// each stream that waits.
type events struct {
	lines *bufio.Scanner
	data  []byte
	fails bool // the event's name says that it is an error
}

func newEvents(body io.Reader) *events {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, lineBytes), maxAnswer)
	return &events{lines: lines}
}

// next waits for an event with data, and is false at the end. One that no empty line closes was cut off and is none.
func (e *events) next() bool {
	e.data, e.fails = e.data[:0], false
	for e.lines.Scan() {
		line := e.lines.Bytes()
		if len(line) == 0 {
			if len(e.data) > 0 {
				return true
			}
			e.fails = false
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			e.data = append(append(e.data, value...), '\n')
		case "event":
			e.fails = string(value) == "error"
		}
	}
	return false
}

// err is why the answer ended before its end.
func (e *events) err() error {
	if err := e.lines.Err(); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}
