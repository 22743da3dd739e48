package spool_test

import (
	"io"
	"os"
	"testing"

	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/spool"
)

// Rule: all that strangers send stays below one bound, declared or not, what is over gives its room back, and who declares
// much and sends nothing takes none of it.
func TestSpoolKeepsItsBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := spool.New(dir, 10)
	first, err := s.Create(6)
	if err != nil {
		t.Fatal(err)
	}
	silent, err := s.Create(10)
	if err != nil {
		t.Fatalf("beside one that has declared 6 and sent nothing: %v", err)
	}
	if err := silent.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(11); !problems.Is(err, problems.PayloadTooLarge) {
		t.Fatalf("11 bytes of 10: %v", err)
	}
	second, err := s.Create(-1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Write([]byte("1234")); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Write([]byte("abcdef")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(1); !problems.Is(err, problems.SpoolFull) {
		t.Fatalf("a byte beside 10 of 10: %v", err)
	}
	if _, err := first.Write([]byte("g")); !problems.Is(err, problems.SpoolFull) {
		t.Fatalf("a byte more than was declared and is there: %v", err)
	}
	if text, err := io.ReadAll(first.Reader()); err != nil || string(text) != "abcdef" {
		t.Errorf("read %q, %v", text, err)
	}
	for range 2 {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}
	if used := s.Used(); used != 4 {
		t.Errorf("%d bytes are taken, want 4", used)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 || s.Used() != 0 {
		t.Errorf("left: %v, %d bytes, %v", left, s.Used(), err)
	}
}
