package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// demoQuestion is asked of the demo's recording.
const demoQuestion = "Who is cold hearted and selfish?"

func chatPath(recordingID int64) string {
	return fmt.Sprintf("/api/v1/recordings/%d/chat", recordingID)
}

func question() io.Reader {
	body, _ := json.Marshal(map[string]any{"message": demoQuestion, "with_sources": true, "stream": true}) // a string and bools
	return bytes.NewReader(body)
}

// demoEvent is one event of a streamed answer.
type demoEvent struct {
	Delta   string `json:"delta"`
	Sources []struct {
		N         int      `json:"n"`
		StartTime *float64 `json:"start_time"`
		Quote     *string  `json:"quote"`
		Verified  bool     `json:"verified"`
	} `json:"sources"`
	EndOfStream bool   `json:"end_of_stream"`
	Error       string `json:"error"`
}

// ask puts the question and shows the answer while it comes, then its sources.
func (d *demoClient) ask(ctx context.Context, out io.Writer, id int64) error {
	request, err := d.request(ctx, http.MethodPost, chatPath(id), "application/json", question())
	if err != nil {
		return err
	}
	response, err := d.http.Do(request)
	if err != nil {
		return fmt.Errorf("asking the question: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
		return fmt.Errorf("the question was answered %d: %s", response.StatusCode, said)
	}
	fmt.Fprintf(out, "question     %s\nanswer, streamed\n  ", demoQuestion)
	verified, ended := 0, false
	lines := bufio.NewScanner(response.Body)
	for !ended && lines.Scan() {
		data, isEvent := strings.CutPrefix(lines.Text(), "data: ")
		if !isEvent {
			continue // a heartbeat, or the empty line behind an event
		}
		var event demoEvent
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return fmt.Errorf("decoding an event of the answer: %w", err)
		}
		if event.Error != "" {
			return fmt.Errorf("the answer broke off: %s", event.Error)
		}
		verified += event.show(out)
		ended = event.EndOfStream
	}
	switch {
	case lines.Err() != nil:
		return fmt.Errorf("reading the answer: %w", lines.Err())
	case !ended:
		return errors.New("the answer has no end")
	case verified == 0:
		return errors.New("the answer has no source that stands in the transcript")
	}
	fmt.Fprintln(out)
	return nil
}

// show writes an event, and counts the sources that stand in the transcript.
func (e demoEvent) show(out io.Writer) (verified int) {
	fmt.Fprint(out, strings.ReplaceAll(e.Delta, "\n", "\n  "))
	for i, source := range e.Sources {
		if source.StartTime == nil || source.Quote == nil || !source.Verified {
			continue
		}
		if i == 0 {
			fmt.Fprintln(out)
		}
		verified++
		fmt.Fprintf(out, "  [%d] at %.2f s: %q\n", source.N, *source.StartTime, *source.Quote)
	}
	return verified
}
