package problems_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// A failure is found in any chain, keeps its cause for the log and shows none of it.
func TestAFailureIsFoundThroughWrapping(t *testing.T) {
	t.Parallel()
	made := problems.New(problems.NotFound, "There is no recording %d.", 7).With("recording", 7).After(time.Second).Because(io.EOF)
	found := problems.Of(fmt.Errorf("finding: %w", made))
	if found != made || !problems.Is(fmt.Errorf("finding: %w", made), problems.NotFound) || problems.Is(made, problems.Internal) {
		t.Errorf("got %v", found)
	}
	if !errors.Is(found, io.EOF) || found.Message != "There is no recording 7." || found.Fields["recording"] != 7 || found.RetryAfter != time.Second {
		t.Errorf("got %+v", found)
	}
}

// An error that is not in the table is internal: kept whole for the log, shown bare.
func TestAnUnknownErrorIsInternal(t *testing.T) {
	t.Parallel()
	found := problems.Of(io.ErrUnexpectedEOF)
	if found.Kind != problems.Internal || found.Message != "Internal error." || !errors.Is(found, io.ErrUnexpectedEOF) {
		t.Errorf("got %+v", found)
	}
}
