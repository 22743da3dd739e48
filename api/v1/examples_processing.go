package v1

import (
	"github.com/stenometer/stenometer/llm/citations"
	"github.com/stenometer/stenometer/recordings"
)

func exampleRegeneratedTitle() regeneratedTitle {
	folder := exampleFolder()
	detail := recordings.Detail{
		Events:        []recordings.CalendarEvent{exampleEvent()},
		Transcription: new("[Ada Lovelace]: Shall we begin with the budget?\n[Grace Hopper]: I send it out by Friday."),
	}
	return regeneratedTitleOf(recordings.Titled{
		Uploaded: recordings.Uploaded{Recording: exampleRecording(), Tags: []recordings.Tag{exampleTag()}, Folder: &folder},
		Detail:   detail,
	})
}

func exampleChatRequest() chatRequest {
	return chatRequest{
		Message:             new("And when?"),
		ConversationHistory: []chatTurn{{"user", "Who sends out the budget?"}, {"assistant", "Grace does."}},
		WithSources:         new(true),
	}
}

func exampleChatReply() chatReply {
	return chatReply{
		Response: new("By Friday [1]."),
		Sources: chatSourcesOf([]citations.Source{{
			N: 1, SegmentIndex: new(1), Start: new(2.9), End: new(4.8), Speaker: new("Grace Hopper"),
			Quote: new("I send it out by Friday"), Verified: true,
		}}),
	}
}
