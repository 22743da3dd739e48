package recordings

import (
	"context"
	"strings"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/llm"
	"github.com/stenometer/stenometer/llm/citations"
	"github.com/stenometer/stenometer/streams"
)

// ChatFrames are the events of a streamed answer as their reader is to have them.
type ChatFrames struct {
	// Delta is the next piece of the text.
	Delta func(text string) any
	// Sources is sent once, behind the text, where the question asks for them.
	Sources func([]citations.Source) any
}

// ChatStream answers as Chat does, while the model writes it. The pieces of the text are together the response. What fails
// before the model has begun is returned; what fails later the stream tells.
func (s *Recordings) ChatStream(ctx context.Context, p auth.Principal, purse budgets.Purse, opener streams.Opener, id int64, q Question, frames ChatFrames) error {
	asked, err := s.question(ctx, p, id, q)
	if err != nil {
		return err
	}
	if asked.foreign {
		opener = opener.While(func(ctx context.Context) error {
			_, err := s.visible(s.db.Read.WithContext(ctx), p, id)
			return err
		})
	}
	//nolint:wrapcheck // the stream's refusals are the answer, and the source says what it attempted
	return opener.Open(streams.Chatting, func(ctx context.Context, out *streams.Sink) error {
		told := &telling{out: out, delta: frames.Delta}
		if q.cites(asked.words) {
			told.citing = citations.NewReader(asked.words.all)
		}
		if asked.unread {
			out.Start()
		} else if err := s.tell(ctx, purse.About(id), asked, told); err != nil {
			return modelProblem("answer the question", err)
		}
		if !q.Sources {
			return nil
		}
		return out.Send(frames.Sources(told.sources()))
	})
}

// tell sends the answer's text.
func (s *Recordings) tell(ctx context.Context, purse budgets.Purse, asked question, told *telling) error {
	answer, err := s.stream(ctx, purse, asked.errand, llm.Listener{Begun: told.out.Start, Heard: told.out.Heard, Said: told.say})
	if err != nil {
		return err
	}
	if err := told.end(); err != nil {
		return err
	}
	return told.send(strings.TrimPrefix(withRemarks(answer, asked.leftOut), cutBytes(answer.Text, maxModelText)))
}

// telling is a streamed answer on its way.
type telling struct {
	out    *streams.Sink
	delta  func(text string) any
	citing *citations.Reader // nil where nothing is cited
	length int               // of what came, in bytes
}

// say sends a piece, as far as an answer may be long. A citation is waited for until its end.
func (t *telling) say(text string) error {
	text = cutBytes(text, maxModelText-t.length)
	t.length += len(text)
	if t.citing != nil {
		text = t.citing.Read(text)
	}
	return t.send(text)
}

func (t *telling) end() error {
	if t.citing == nil {
		return nil
	}
	return t.send(t.citing.End())
}

func (t *telling) send(text string) error {
	if text == "" {
		return nil
	}
	return sendText(t.out, text, t.delta)
}

// sendText sends a text in as many events as it needs.
func sendText(out *streams.Sink, text string, event func(string) any) error {
	for _, piece := range streams.Pieces(text) {
		if err := out.Send(event(piece)); err != nil {
			return err //nolint:wrapcheck // the reason for which the stream ends
		}
	}
	return nil
}

func (t *telling) sources() []citations.Source {
	if t.citing == nil {
		return nil
	}
	return t.citing.Sources()
}
