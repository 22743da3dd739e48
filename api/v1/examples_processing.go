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

func exampleInquireRequest() inquireRequest {
	return inquireRequest{
		Question: new("When is the budget sent out?"), Mode: new("auto"), Scope: new("own"),
		Filters: &inquireFilters{TagIDs: []int64{3}, Speakers: []string{"Grace Hopper"}, DateFrom: new("2026-11-01")},
	}
}

func exampleInquireReply() inquireReply {
	return inquireReplyOf(recordings.Findings{
		Answer: new("By Friday [1]."), Mode: recordings.ByRetrieval,
		Citations: []recordings.Citation{{N: 1, RecordingID: 42, Title: new("Budget talk"), Start: new(2.0), URL: "/recordings/42?t=2"}},
	})
}
