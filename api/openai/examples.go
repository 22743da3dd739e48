package openai

import (
	"encoding/json"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
)

func exampleCompletionRequest() completionRequest {
	return completionRequest{
		Model: "gpt-4o-mini", MaxTokens: new(300), Temperature: new(0.2),
		Messages: []requestMessage{
			{Role: "system", Content: json.RawMessage(`"Answer in one sentence."`)},
			{Role: "user", Content: json.RawMessage(`"What do bees make?"`)},
		},
	}
}

func exampleCompletion() chatCompletion {
	return completionOf("chatcmpl-5QGO2FRQHM2IXBKB5S3Q3TSS4F", 1772690400, "gpt-4o-mini", llm.Answer{
		Text: "Bees make honey.", Used: budgets.Measure{Input: 21, Output: 5},
	})
}

func exampleTranscription() transcription {
	return transcription{Text: "Good morning, here are the budget figures."}
}

func exampleVerbose() verbose {
	return verbose{
		Task: "transcribe", Language: "en", Duration: 4.2, Text: "Good morning, here are the budget figures.",
		Segments: []transcriptionSegment{{Start: new(0.0), End: new(4.0), Text: "Good morning, here are the budget figures."}},
	}
}
