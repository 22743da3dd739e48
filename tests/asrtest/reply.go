package asrtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Reply is one answer. Its zero value is 200 with an empty JSON object.
type Reply struct {
	// Status is 200 when 0.
	Status int
	// Body is sent as it stands. Form makes the body from what was asked for.
	Body string
	Form func(format string) any
	// Headers go with the answer, such as Retry-After.
	Headers map[string]string
	// Delay passes before the answer begins; a client that leaves meanwhile counts as aborted.
	Delay time.Duration
	// Hold never answers: the call ends when the client leaves.
	Hold bool
	// Drop sends the first half of the answer and cuts the connection.
	Drop bool

	later func(Call) Reply
}

// Segment is a stretch of speech in an answer.
type Segment struct {
	Start, End float64
	Text       string
	Speaker    string
}

// Segments answers in every form: verbose_json and diarized_json with segments, json with the text alone, and the ASR
// endpoint's own.
func Segments(segments ...Segment) Reply {
	return Reply{Form: func(format string) any {
		texts := make([]string, len(segments))
		list := make([]map[string]any, len(segments))
		for i, s := range segments {
			texts[i] = s.Text
			list[i] = map[string]any{"id": i, "start": s.Start, "end": s.End, "text": s.Text}
			if s.Speaker != "" {
				list[i]["speaker"] = s.Speaker
			}
		}
		body := map[string]any{"text": strings.Join(texts, " ")}
		if format != "json" {
			body["segments"], body["language"], body["task"] = list, "english", "transcribe"
		}
		return body
	}}
}

// Plain answers with text alone, whatever form is asked for.
func Plain(text string) Reply {
	return Reply{Form: func(string) any { return map[string]any{"text": text} }}
}

// Fails answers with a status and an error that quotes what must never be shown.
func Fails(status int) Reply {
	return Reply{Status: status, Body: `{"error":{"message":"PROVIDER-SECRET said no to sk-key","type":"error","code":null}}`}
}

// Busy answers 429 with a wait in whole seconds.
func Busy(seconds int) Reply {
	reply := Fails(http.StatusTooManyRequests)
	reply.Headers = map[string]string{"Retry-After": fmt.Sprint(seconds)}
	return reply
}

// RefusesForms answers 400 to every response_format but json, and then as other does.
func RefusesForms(other Reply) func(Call) Reply {
	return func(call Call) Reply {
		if format := call.Fields.Get("response_format"); format != "" && format != "json" {
			return Fails(http.StatusBadRequest)
		}
		return other
	}
}

// RefusesLongerThan answers 400 to audio beyond a length, and then as other does.
func RefusesLongerThan(most time.Duration, other func(Call) Reply) func(Call) Reply {
	return func(call Call) Reply {
		if call.Length > most {
			return Fails(http.StatusBadRequest)
		}
		return other(call)
	}
}

// write sends the reply and reports whether the client had left.
func (reply Reply) write(w http.ResponseWriter, r *http.Request, call Call) (left bool) {
	if reply.Hold {
		<-r.Context().Done()
		return true
	}
	if reply.Delay > 0 {
		timer := time.NewTimer(reply.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return true
		}
	}
	body := []byte(reply.Body)
	if reply.Form != nil {
		format := call.Fields.Get("response_format")
		if format == "" && call.Path != "/asr" {
			format = "json"
		}
		body, _ = json.Marshal(reply.Form(format))
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	for name, value := range reply.Headers {
		w.Header().Set(name, value)
	}
	status := reply.Status
	if status == 0 {
		status = http.StatusOK
	}
	if reply.Drop {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
	return false
}
