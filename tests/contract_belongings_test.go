package tests

import (
	"testing"

	"github.com/stenometer/stenometer/tests/asrtest"
)

// dialog is what two people said.
func dialog() asrtest.Reply {
	return asrtest.Segments(
		asrtest.Segment{Start: 0, End: 1, Text: "Hello there.", Speaker: "SPEAKER_00"},
		asrtest.Segment{Start: 1, End: 2, Text: "Good morning.", Speaker: "SPEAKER_01"},
		asrtest.Segment{Start: 2, End: 3, Text: "Goodbye.", Speaker: "SPEAKER_00"},
	)
}

// Rule: the contract, row by row, of what hangs on recordings, of the account and of the server: each row is a request
// to the built server. What is said to be ours differs, and stands with its reason in
// docs/user-guide/differences.md.
func TestTheContractOfWhatHangsOnRecordings(t *testing.T) {
	t.Parallel()
	twoDatabases(t, func(t *testing.T, r *rig) {
		r.transcribed(t, "talk", dialog())
		r.transcribed(t, "again", dialog())
		r.transcribed(t, "recording", asrtest.Plain("Hello."))
		r.transcribed(t, "full", asrtest.Plain("[SPEAKER_00]: Hello. [ speaker_01 ]: Hi."))
		for _, section := range []struct {
			name     string
			contract func(*testing.T, *rig)
		}{
			{"discovery", discoveryContract},
			{"users and settings", userContract},
			{"stats", statsContract},
			{"tags", tagContract},
			{"folders", folderContract},
			{"references", refContract},
			{"speakers", speakerContract},
			{"assigning", assignContract},
			{"events", eventContract},
			{"shares", shareContract},
			{"internal shares", internalShareContract},
			{"odd ids", oddIDContract},
			{"times", timeContract},
			{"tokens", tokenContract},
			{"credentials", credentialContract},
			{"errors", errorContract},
		} {
			t.Run(section.name, func(t *testing.T) { section.contract(t, r) })
		}
	})
}
