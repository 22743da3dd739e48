package tests

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/tests/described"
	"github.com/stenometer/stenometer/tests/servertest"
)

// perOperation is how many requests each operation gets.
const perOperation = 15

// Whatever a request looks like, the answer is one that the document names, in the form that it names, and never a
// 500: the requests are made of the document, valid and invalid ones, from a seed.
func TestNoRequestIsAnsweredOutsideOfTheDocument(t *testing.T) {
	t.Parallel()
	askEverything(t, 20260304, perOperation)
}

// The same with other requests, and more of them.
func TestSoakNoRequestIsAnsweredOutsideOfTheDocument(t *testing.T) {
	if !servertest.Soak() {
		t.Skip("takes minutes; make soak runs it")
	}
	askEverything(t, 20260305, 6*perOperation)
}

// askEverything sends so many requests of each operation and judges the answers.
func askEverything(t *testing.T, seed uint64, requests int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	generator, err := described.NewGenerator(text, seed)
	if err != nil {
		t.Fatal(err)
	}
	environment := deaf(t).With(servertest.Environment{
		"API_TOKENS_MANAGE_BY_TOKEN": "true", "API_MAX_TOKENS_PER_USER": "0", "API_TOKEN_CREATE_RATE_LIMIT": "0",
		"API_TOKEN_CHANGE_RATE_LIMIT": "0", "API_SEARCH_RATE_LIMIT": "0", "LOGIN_RATE_LIMIT": "0", "REGISTER_RATE_LIMIT": "0",
	})
	process := servertest.Start(t, environment)
	servertest.CreateUser(t, environment, "ada@example.org")
	client := process.Client(servertest.CreateToken(t, environment, "ada@example.org"))
	for n := range requests {
		generator.IDs = belongings(t, client)
		for _, operation := range generator.Operations() {
			request := generator.Make(operation[0], operation[1])
			header := http.Header{}
			for name, value := range request.Header {
				header.Set(name, value)
			}
			answer, err := client.Do(request.Method, request.Path, bytes.NewReader(request.Body), header)
			if err != nil {
				t.Fatalf("round %d: %s %s: %v", n, request.Method, request.Path, err)
			}
			if answer.Status == http.StatusInternalServerError {
				t.Errorf("round %d: %s %s %v with %.300q: %v", n, request.Method, request.Path, request.Header, request.Body, answer)
			}
			if answer.Code() == problems.InvalidToken.Code() {
				// The request before has revoked the token, as some must.
				client = process.Client(servertest.CreateToken(t, environment, "ada@example.org"))
			}
		}
	}
}

// belongings makes one thing of each kind and gives their ids.
func belongings(t *testing.T, client *servertest.Client) []int64 {
	t.Helper()
	ids := []int64{recordingID(t, client.Upload("tone.wav", tone(t), nil).JSON(t))}
	for path, body := range map[string]map[string]any{
		"/api/v1/tags": {"name": "t"}, "/api/v1/folders": {"name": "f"}, "/api/v1/speakers": {"name": "s"},
	} {
		name := fmt.Sprintf("%s %d", body["name"], ids[0])
		if made := client.Send(http.MethodPost, path, map[string]any{"name": name}); made.Status == http.StatusCreated {
			ids = append(ids, int64(made.JSON(t)["id"].(float64)))
		}
	}
	return ids
}
