package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"time"

	"github.com/stenometer/stenometer/config"
)

// demoClient speaks to the server as any client would: over HTTP, with a token.
type demoClient struct {
	address, token string
	http           *http.Client
}

type demoSegment struct {
	Text      string  `json:"text"`
	StartTime float64 `json:"start_time"`
	EndTime   float64 `json:"end_time"`
}

// demoAnswer is an answer that was read: its status, headers and at most 4 MiB of its body.
type demoAnswer struct {
	status int
	header http.Header
	body   []byte
}

func (d *demoClient) request(ctx context.Context, method, path, contentType string, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, d.address+path, body)
	if err != nil {
		return nil, fmt.Errorf("building %s %s: %w", method, path, err)
	}
	if d.token != "" {
		request.Header.Set("Authorization", "Bearer "+d.token)
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return request, nil
}

func (d *demoClient) call(ctx context.Context, method, path, contentType string, body io.Reader) (demoAnswer, error) {
	request, err := d.request(ctx, method, path, contentType, body)
	if err != nil {
		return demoAnswer{}, err
	}
	response, err := d.http.Do(request)
	if err != nil {
		return demoAnswer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err != nil {
		return demoAnswer{}, fmt.Errorf("reading the answer of %s %s: %w", method, path, err)
	}
	return demoAnswer{response.StatusCode, response.Header, answer}, nil
}

// expect sends one request, insists on a status and decodes the answer.
func (d *demoClient) expect(ctx context.Context, status int, method, path, contentType string, body io.Reader, into any) error {
	answer, err := d.call(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	if answer.status != status {
		return fmt.Errorf("%s %s answered %d, not %d: %s", method, path, answer.status, status, answer.body)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer.body, into); err != nil {
		return fmt.Errorf("decoding the answer of %s %s: %w", method, path, err)
	}
	return nil
}

// expectRefusal shows that nobody gets in without a token.
func (d *demoClient) expectRefusal(ctx context.Context) error {
	return d.expect(ctx, http.StatusUnauthorized, http.MethodGet, "/api/v1/recordings", "", nil, nil)
}

func (d *demoClient) upload(ctx context.Context) (int64, error) {
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	part, err := writer.CreateFormFile("file", "speech.flac")
	if err != nil {
		return 0, fmt.Errorf("building the upload: %w", err)
	}
	if _, err := part.Write(demoSpeech); err != nil {
		return 0, fmt.Errorf("building the upload: %w", err)
	}
	if err := writer.WriteField("title", "Demo recording"); err != nil {
		return 0, fmt.Errorf("building the upload: %w", err)
	}
	if err := writer.Close(); err != nil {
		return 0, fmt.Errorf("building the upload: %w", err)
	}
	var accepted struct {
		ID int64 `json:"id"`
	}
	err = d.expect(ctx, http.StatusAccepted, http.MethodPost, "/api/v1/recordings/upload", writer.FormDataContentType(), &form, &accepted)
	return accepted.ID, err
}

// awaitTranscript polls the status, as a client would, until the recording is done.
func (d *demoClient) awaitTranscript(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(ctx, demoPatience)
	defer cancel()
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		var state struct {
			Status       string  `json:"status"`
			ErrorMessage *string `json:"error_message"`
		}
		if err := d.expect(ctx, http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/recordings/%d/status", id), "", nil, &state); err != nil {
			return err
		}
		switch state.Status {
		case "COMPLETED":
			return nil
		case "FAILED":
			reason := "no reason given"
			if state.ErrorMessage != nil {
				reason = *state.ErrorMessage
			}
			return fmt.Errorf("the transcription failed: %s", reason)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the transcription: %w", ctx.Err())
		}
	}
}

func (d *demoClient) transcript(ctx context.Context, id int64) ([]demoSegment, error) {
	var answer struct {
		Segments []demoSegment `json:"segments"`
	}
	if err := d.expect(ctx, http.StatusOK, http.MethodGet, fmt.Sprintf("/api/v1/recordings/%d/transcript", id), "", nil, &answer); err != nil {
		return nil, err
	}
	if len(answer.Segments) == 0 {
		return nil, fmt.Errorf("the transcript of recording %d has no segments", id)
	}
	return answer.Segments, nil
}

// exhaust calls a read route until the guard refuses, and shows the refusal. A guard that lets everything through
// is a failure of the demo.
func (d *demoClient) exhaust(ctx context.Context, out io.Writer, rates config.Rates) error {
	most := int64(0)
	for _, rate := range rates {
		most = max(most, rate.Limit)
	}
	if most == 0 {
		return fmt.Errorf("the demo needs API_TOKEN_RATE_LIMIT_READ, which is switched off")
	}
	for passed := range most + 1 {
		answer, err := d.call(ctx, http.MethodGet, "/api/v1/recordings", "", nil)
		if err != nil {
			return err
		}
		switch answer.status {
		case http.StatusOK:
			continue
		case http.StatusTooManyRequests:
			fmt.Fprintf(out, "rate limit   429 after %d more requests; Retry-After: %s s\n             %s\n",
				passed, answer.header.Get("Retry-After"), bytes.TrimSpace(answer.body))
			return nil
		default:
			return fmt.Errorf("GET /api/v1/recordings answered %d: %s", answer.status, answer.body)
		}
	}
	return fmt.Errorf("%d requests in a row were let through: the guard does not guard", most+1)
}
