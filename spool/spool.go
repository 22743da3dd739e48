// Package spool keeps on disk what strangers send before it is known who they are. All of it together stays below one
// bound: whoever is not known yet can fill that, and never the disk.
package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/stenometer/stenometer/problems"
)

// retryFull is the hint where the bound is reached: what fills it is read or given up within that, mostly.
const retryFull = 10 * time.Second

// Spool is a folder with a bound.
type Spool struct {
	dir  string
	most int64

	mu   sync.Mutex // guards used
	used int64
}

// New makes a spool of at most so many bytes in a folder that exists; 0 takes nothing.
func New(dir string, most int64) *Spool { return &Spool{dir: dir, most: most} }

// Used is how many bytes are taken now.
func (s *Spool) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// fits refuses what has no room even where nothing else is: to wait would not help.
func (s *Spool) fits(size int64) error {
	if size > s.most {
		return problems.New(problems.PayloadTooLarge, "At most %d bytes are taken from a sender that is not known yet.", s.most)
	}
	return nil
}

// hasRoom refuses what is more than is left now, and takes nothing.
func (s *Spool) hasRoom(bytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room(bytes)
}

func (s *Spool) take(bytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.room(bytes); err != nil {
		return err
	}
	s.used += bytes
	return nil
}

// room is asked with the lock held.
func (s *Spool) room(bytes int64) error {
	if bytes > s.most-s.used {
		return problems.New(problems.SpoolFull, "The server holds as much as it may from senders that are not known yet; try again.").After(retryFull)
	}
	return nil
}

func (s *Spool) give(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= bytes
}

// File is what one sender has sent. It is for one goroutine.
type File struct {
	spool *Spool
	file  *os.File
	// taken of the spool's room, size of it written.
	taken, size int64
}

// Create makes a file for what is declared, -1 for what is not. Who declares more than there is room for is refused before
// any of it is read, but room is taken only as bytes come: a sender that declares much and sends little keeps nobody out.
// The caller closes it.
func (s *Spool) Create(declared int64) (*File, error) {
	wanted := max(0, declared)
	if err := s.fits(wanted); err != nil {
		return nil, err
	}
	if err := s.hasRoom(wanted); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(s.dir, "spool-*")
	if err != nil {
		return nil, fmt.Errorf("make a file of the spool: %w", err)
	}
	return &File{spool: s, file: file}, nil
}

// Write takes room for what it writes.
func (f *File) Write(p []byte) (int, error) {
	if err := f.spool.fits(f.size + int64(len(p))); err != nil {
		return 0, err
	}
	if err := f.spool.take(int64(len(p))); err != nil {
		return 0, err
	}
	f.taken += int64(len(p))
	n, err := f.file.Write(p)
	f.size += int64(n)
	if err != nil {
		return n, fmt.Errorf("write to the spool: %w", err)
	}
	return n, nil
}

// Size is how much was written.
func (f *File) Size() int64 { return f.size }

// Reader reads what was written from its beginning.
func (f *File) Reader() io.Reader { return io.NewSectionReader(f.file, 0, f.size) }

// Close removes the file and gives its room back; it may be called twice.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	file := f.file
	f.file = nil
	err := errors.Join(file.Close(), os.Remove(file.Name()))
	f.spool.give(f.taken)
	if err != nil {
		return fmt.Errorf("remove a file of the spool: %w", err)
	}
	return nil
}
