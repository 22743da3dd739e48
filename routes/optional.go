package routes

import (
	"bytes"
	"encoding/json"
)

// Optional is a member of a JSON body where absent, null and a value mean three different things. Value is the zero
// value unless one was sent.
type Optional[T any] struct {
	Set, Null bool
	Value     T
}

// UnmarshalJSON is called only for members that are there.
func (o *Optional[T]) UnmarshalJSON(raw []byte) error {
	o.Set = true
	if bytes.Equal(raw, []byte("null")) {
		o.Null = true
		return nil
	}
	return json.Unmarshal(raw, &o.Value)
}

// MarshalJSON writes what a client would send: examples have Optionals, answers have none. What is absent is null, as
// no member can leave itself out.
func (o Optional[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.Pointer()) }

// Given is an Optional with a value, for examples.
func Given[T any](value T) Optional[T] { return Optional[T]{Set: true, Value: value} }

// Pointer is the value, nil where it is absent or null.
func (o *Optional[T]) Pointer() *T {
	if !o.Set || o.Null {
		return nil
	}
	return &o.Value
}

// InlineJSONSchema keeps the document from giving it a name of its own.
func (Optional[T]) InlineJSONSchema() {}

// content lets the keeper of bounds and the document look at the value, whatever its type.
func (o Optional[T]) content() (value any, given bool) { return o.Value, o.Set && !o.Null }

// optional is what every Optional is.
type optional interface {
	content() (value any, given bool)
}
