package recordings

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"syscall"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/stenometer/stenometer/problems"
)

// keyPrefix begins the key of every stored file; the two characters after it spread them over 256 folders, which
// the sweeper compares one by one.
const keyPrefix = "recordings/"

// reserveEvery is how many bytes are written between two looks at the free space.
const reserveEvery = 16 << 20

// incoming is a file on its way into the storage. It is written straight to its final key: it becomes an object
// whole or not at all, nobody knows the key until the recording's row is written, and what a dying process leaves
// is an object without a row, which the sweeper removes. On a folder of this machine that costs one write of the
// bytes; a remote storage gets them while they arrive, and a temporary copy serves the probe.
type incoming struct {
	service *Recordings
	key     string
	name    string
	size    int64
	hash    hash.Hash
	path    string // where it can be read on this machine
	temp    string // path, when it is a copy that must be removed
	stored  bool
}

// newKey makes the key of a stored file: nothing of what the client sent is in it.
func newKey() string {
	var random [16]byte
	rand.Read(random[:])
	name := hex.EncodeToString(random[:])
	return keyPrefix + name[:2] + "/" + name
}

// receive streams the file of an upload into the storage. On failure nothing of it stays.
func (s *Recordings) receive(ctx context.Context, part filePart) (*incoming, error) {
	file := &incoming{service: s, key: newKey(), name: label(part.name), hash: sha256.New()}
	if err := s.checkReserve(); err != nil {
		return nil, err
	}
	writing, cancel := context.WithCancel(ctx)
	defer cancel()
	object, err := s.Files.NewWriter(writing, file.key, &blob.WriterOptions{ContentType: "application/octet-stream"})
	if err != nil {
		return nil, storageProblem("open the file in the storage", err)
	}
	err = file.copy(object, part)
	if err == nil && file.size == 0 {
		err = problems.New(problems.InvalidMedia, "The file is empty.")
	}
	if err != nil {
		// Closing after the cancellation is what takes the unfinished object away.
		cancel()
		_ = object.Close()
		file.discard(ctx)
		return nil, err
	}
	file.stored = true
	if err := object.Close(); err != nil {
		file.discard(ctx)
		return nil, storageProblem("finish the file in the storage", err)
	}
	if err := file.settle(); err != nil {
		file.discard(ctx)
		return nil, err
	}
	return file, nil
}

// copy writes the part to the object, and to a temporary file where the storage is not on this machine.
func (f *incoming) copy(object io.Writer, part io.Reader) error {
	to := io.MultiWriter(object, f.hash)
	if f.service.LocalPath == nil {
		temp, err := os.CreateTemp(f.service.TempDir, "upload-*")
		if err != nil {
			return storageProblem("make a temporary file", err)
		}
		defer closing(temp)
		f.path, f.temp = temp.Name(), temp.Name()
		to = io.MultiWriter(object, f.hash, temp)
	}
	var err error
	f.size, err = f.service.pour(to, part)
	return err
}

// pour writes a file of a request to where it is wanted, as far as a file may be long and the disk has room.
func (s *Recordings) pour(to io.Writer, part io.Reader) (size int64, err error) {
	buffer, most := make([]byte, 256<<10), s.maxFileBytes()
	for look := int64(reserveEvery); ; {
		n, readErr := part.Read(buffer)
		if size += int64(n); size > most {
			return size, tooLarge(most)
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return size, storageProblem("write the file", err)
		}
		if readErr == io.EOF { // a wrapped EOF is a file that was cut short
			return size, nil
		}
		if readErr != nil {
			return size, readErr
		}
		if size >= look {
			look += reserveEvery
			if err := s.checkReserve(); err != nil {
				return size, err
			}
		}
	}
}

// settle makes a file in a folder survive a loss of power before its recording is promised to anybody.
func (f *incoming) settle() error {
	if f.service.LocalPath == nil {
		return nil
	}
	f.path = f.service.LocalPath(f.key)
	file, err := os.Open(f.path)
	if err != nil {
		return storageProblem("open the stored file", err)
	}
	defer closing(file)
	if err := file.Sync(); err != nil {
		return storageProblem("sync the stored file", err)
	}
	return nil
}

// sum is the SHA-256 of the bytes in lower-case hex.
func (f *incoming) sum() string { return hex.EncodeToString(f.hash.Sum(nil)) }

// discard takes the file out of the storage again, also when the request is over; what it cannot remove is left
// to the sweeper.
func (f *incoming) discard(ctx context.Context) {
	f.forget()
	if !f.stored {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := f.service.Files.Delete(ctx, f.key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		f.service.Logger.WarnContext(ctx, "the file of a refused upload could not be removed", "key", f.key, "error", err.Error())
	}
}

// forget removes the temporary copy, if there is one.
func (f *incoming) forget() {
	if f.temp == "" {
		return
	}
	if err := os.Remove(f.temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		f.service.Logger.Warn("a temporary copy could not be removed", "path", f.temp, "error", err.Error())
	}
}

// checkReserve refuses to write where the disk is nearly full, so that the database can still be written.
func (s *Recordings) checkReserve() error {
	free, err := s.Free()
	if err != nil {
		return fmt.Errorf("ask for the free space: %w", err)
	}
	if free < s.ReserveBytes {
		return storageFull().Because(fmt.Errorf("%d bytes are free, %d are reserved", free, s.ReserveBytes))
	}
	return nil
}

// storageProblem tells what is known already, as of a full spool, and a full disk from a storage that does not answer.
func storageProblem(attempt string, err error) error {
	err = fmt.Errorf("%s: %w", attempt, err)
	var known *problems.Error
	if errors.As(err, &known) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return storageFull().Because(err)
	}
	return problems.New(problems.StorageUnavailable, "The file storage did not answer; try again.").
		Because(err).After(5 * time.Second)
}

func storageFull() *problems.Error {
	return problems.New(problems.StorageFull, "The server has no room left for the file; nothing was stored.")
}

// tooLarge is the answer to a file beyond the bound, in the contract's form.
func tooLarge(bound int64) *problems.Error {
	refusal := problems.New(problems.PayloadTooLarge, "The file is larger than %g MB.", float64(bound)/(1<<20))
	refusal.Fields = problems.UploadTooLarge(bound)
	return refusal
}
