package models

// Amount is what work uses, or is held to use at most.
type Amount struct {
	Micros  int64 // micro-dollars
	Tokens  int64 // of text models, read and written
	Seconds int64 // of audio
}
