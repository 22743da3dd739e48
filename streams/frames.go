package streams

import (
	"errors"
	"fmt"

	"github.com/stenometer/stenometer/problems"
)

// heartbeat is one comment line without an empty line after it: clients take an empty line for the end of an event, and
// some make an event of nothing.
const heartbeat = ": heartbeat\n"

// Frames is how a stream ends on the wire. The zero value is refused.
type Frames struct {
	success string
	failure func(problems.Kind, *problems.Error) any
}

// The two styles.
var (
	// APIv1 is what clients of the contract read.
	APIv1 = Frames{`data: {"end_of_stream":true}` + "\n\n", plainFailure}
	// OpenAI is what OpenAI's own clients read.
	OpenAI = Frames{"data: [DONE]\n\n", openAIFailure}
)

// failed is the frame of a failure. Of one that is internal only that is said.
func (f Frames) failed(err error) ([]byte, error) {
	p := problems.Of(err)
	kind := p.Kind
	if kind == (problems.Kind{}) || kind == problems.Internal {
		kind, p = problems.Internal, problems.New(problems.Internal, "Internal error.")
	}
	frame, err := dataFrame(f.failure(kind, p))
	if err != nil {
		return nil, fmt.Errorf("write the failure of a stream: %w", err)
	}
	return frame, nil
}

func plainFailure(kind problems.Kind, p *problems.Error) any {
	frame := map[string]any{"error": p.Message, "code": kind.Code()}
	if kind == problems.BudgetExceeded {
		frame["budget_exceeded"] = true // what clients of the contract look for
	}
	return frame
}

func openAIFailure(kind problems.Kind, p *problems.Error) any {
	return problems.OpenAIError(kind, p.Message, nil)
}

// errNoOpener is a capability that nobody handed out.
var errNoOpener = errors.New("the stream has no opener: nothing would bound it")
