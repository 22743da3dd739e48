package asrtest

import (
	"context"
	"net/http"
	"path/filepath"
	"time"

	"github.com/stenometer/stenometer/media"
)

// Recognizes makes the service give real answers, by PocketSphinx: one segment for the whole file.
func (s *Server) Recognizes() {
	s.Always(func(call Call) Reply {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		wav := filepath.Join(s.dir, filepath.Base(call.File)+".recognized.wav")
		if err := s.media.Convert(ctx, call.File, wav, media.WAV(), media.Stretch{}); err != nil {
			return Fails(http.StatusBadRequest)
		}
		words, err := s.media.Recognize(ctx, wav, 5*time.Minute)
		if err != nil {
			return Fails(http.StatusInternalServerError)
		}
		segment := Segment{End: call.Length.Seconds()}
		for i, word := range words {
			if i > 0 {
				segment.Text += " "
			}
			segment.Text += word.Text
		}
		return Segments(segment)
	})
}
