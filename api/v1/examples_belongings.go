package v1

import (
	"time"

	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
)

func exampleTag() recordings.Tag {
	return recordings.Tag{
		Holding: exampleHolding(),
		ID:      3, Name: new("Planning"), Color: exampleColor, DefaultLanguage: new("en"), MinSpeakers: new(2), MaxSpeakers: new(4),
		CreatedAt: exampleTime(8, 12, 0),
	}
}

func exampleHolding() recordings.Holding {
	return recordings.Holding{GroupID: new(int64(1)), GroupName: new("Example"), AutoShare: true, CanEdit: true}
}

func exampleTagForm() tagForm { return tagFormOf(exampleTag()) }

func exampleTagList() tagList {
	return tagList{Tags: []tagListItem{{tagForm: exampleTagForm(), CanEdit: true}}}
}

func exampleNewTag() newTag {
	return newTag{Name: "Planning", presetFields: presetFields{
		Color: routes.Given(exampleColor), DefaultLanguage: routes.Given("en"),
		DefaultMinSpeakers: routes.Given(2), DefaultMaxSpeakers: routes.Given(4),
	}}
}

func exampleTagUpdate() tagUpdate {
	return tagUpdate{Name: routes.Given("Planning"), ProtectFromDeletion: routes.Given(false)}
}

func exampleTagAdditionResult() tagAdditionResult {
	return tagAdditionResult{Success: true, AddedTags: []addedTag{{3, new("Planning")}}}
}

func exampleTagReplacementResult() tagReplacementResult {
	return tagReplacementResult{
		Tags: []appliedTag{{3, new("Planning"), exampleColor}}, Added: []int64{3}, Removed: []int64{1},
	}
}

func exampleFolder() recordings.Folder {
	return recordings.Folder{
		Holding: exampleHolding(),
		ID:      2, Name: new("Team meetings"), Color: "#10B981", DefaultLanguage: new("en"), Hotwords: new(exampleHotwords),
		CreatedAt: exampleTime(8, 10, 0), RecordingCount: 1,
	}
}

func exampleFolderDetail() folderDetail { return folderDetail{folderFormOf(exampleFolder()), true} }

func exampleNewFolder() newFolder {
	return newFolder{Name: "Team meetings", folderFields: exampleFolderFields()}
}

func exampleFolderUpdate() folderUpdate {
	return folderUpdate{Name: routes.Given("Team meetings"), folderFields: exampleFolderFields()}
}

func exampleFolderFields() folderFields {
	return folderFields{
		presetFields:    presetFields{Color: routes.Given("#10B981"), DefaultLanguage: routes.Given("en")},
		DefaultHotwords: routes.Given(exampleHotwords),
	}
}

func exampleSpeaker() recordings.Speaker {
	return recordings.Speaker{
		ID: 7, Name: "Ada Lovelace", Email: new("ada@example.org"), Aliases: []string{"Countess"}, UseCount: 1,
		LastUsedAt: new(exampleTime(9, 44, 3)), CreatedAt: exampleTime(9, 44, 3), UpdatedAt: exampleTime(9, 44, 3),
	}
}

func exampleNewSpeaker() newSpeaker {
	return newSpeaker{Name: "Ada Lovelace", Email: new("ada@example.org"), Aliases: routes.Given([]string{"Countess"})}
}

func exampleSpeakerUpdate() speakerUpdate {
	return speakerUpdate{Name: routes.Given("Ada Lovelace"), Aliases: routes.Given([]string{"Countess"})}
}

func exampleRecordingSpeakers() recordingSpeakerList {
	return recordingSpeakerList{
		Speakers: []recordingSpeaker{
			{"SPEAKER_00", new("Ada Lovelace"), new(int64(7)), new("ada@example.org"), 1},
			{"SPEAKER_01", new("Grace Hopper"), new(int64(8)), nil, 1},
		},
		Suggestions: map[string][]speakerSuggestion{},
	}
}

func exampleSpeakerAssignment() speakerAssignment {
	return speakerAssignment{SpeakerMap: speakerMap{
		{Label: "SPEAKER_00", Name: "Ada Lovelace"}, {Label: "SPEAKER_01", Name: "Grace Hopper"},
	}}
}

func exampleSpeakerAssignmentResult() speakerAssignmentResult {
	return speakerAssignmentResult{
		Success: true, Message: speakersAssigned,
		Recording: assignedRecording{exampleID, new(exampleTitle), new(examplePeople), recordings.StatusCompleted},
	}
}

func exampleRef() recordings.ExternalRef {
	return recordings.ExternalRef{
		ID: 11, System: "tracker", Kind: "issue", Ref: "PROJ-17", URL: new(exampleRefURL), Label: new("Plan the quarter"),
		CreatedAt: exampleTime(9, 31, 12),
	}
}

func exampleRefList() externalRefList {
	return externalRefListOf([]recordings.ExternalRef{exampleRef()})
}

func exampleRefFields() externalRefFields {
	return externalRefFields{Kind: "issue", Ref: "PROJ-17", URL: new(exampleRefURL), Label: new("Plan the quarter")}
}

func exampleShare() recordings.Share {
	return recordings.Share{
		ID: 9, Link: exampleLink, Summary: true, CreatedAt: exampleTime(9, 48, 0),
		ExpiresAt: new(exampleTime(9, 48, 0).Add(30 * 24 * time.Hour)),
	}
}

func exampleShareResult(existing bool) shareResult {
	return shareResult{ShareURL: exampleShareURL, Existing: existing, Share: shareFormOf(exampleShare())}
}

func exampleShareList() shareList {
	return shareList{Shares: []shareListItem{{shareFormOf(exampleShare()), exampleShareURL}}}
}

func exampleNewShare() newShare {
	return newShare{ShareSummary: routes.Given(true), ShareNotes: routes.Given(false), ExpiresInDays: routes.Given(30)}
}

func exampleStats() statsForm {
	return statsFormOf(recordings.Stats{
		Total: 1, Completed: 1, AudioBytes: 1863310, Today: 1, LastTranscription: new(exampleTime(9, 31, 40)),
	})
}

func exampleTranscriptionInfo() transcriptionInfo {
	return transcriptionInfo{
		Connector: "asr_endpoint",
		Capabilities: transcriptionCapabilities{
			Diarization: true, SpeakerCountControl: true, Hotwords: true, InitialPrompt: true, Timestamps: true, LanguageDetection: true,
		},
		Models: []transcriptionModel{}, DefaultModel: new("large-v3"),
	}
}

func exampleLimits() limitList {
	next, whole := exampleTime(9, 50, 1), exampleTime(9, 50, 12)
	return limitList{Limits: []limitForm{{
		Name: "token_read", Scope: "token", Limit: 120, WindowSeconds: 60, Remaining: 114,
		NextAt: new(routes.Micro(next)), WholeAt: new(routes.Micro(whole)),
	}}}
}
