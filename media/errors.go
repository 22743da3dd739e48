package media

import "errors"

var (
	// ErrNotMedia is the caller's fault: the content is empty, is no audio that can be decoded, or takes too long to
	// be looked at.
	ErrNotMedia = errors.New("not audio or video that can be decoded")
	// ErrTooLong is the caller's fault: the audio is longer than MaxLength.
	ErrTooLong = errors.New("the audio is longer than allowed")
	// ErrBusy is our fault: the machine was too busy to look at the file in time. Trying again later may help.
	ErrBusy = errors.New("the machine was too busy to look at the file")
	// ErrBounds means that a child was ended by its bound on time, memory or output.
	ErrBounds = errors.New("a media program was stopped at its bounds")
)
