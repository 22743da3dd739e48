package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"syscall"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	// The s3:// scheme registers itself with blob.OpenBucket.
	_ "gocloud.dev/blob/s3blob"

	"github.com/stenometer/stenometer/config"
)

// openFiles opens what FILE_STORAGE_URL names. Files on disk are written beside their final place: a temporary
// folder on another mount could not be renamed from. Their metadata lives in the database.
func openFiles(ctx context.Context, address string) (*blob.Bucket, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("parsing FILE_STORAGE_URL: %w", err)
	}
	if parsed.Scheme != "file" {
		return blob.OpenBucket(ctx, address)
	}
	folder := parsed.Host + parsed.Path
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the files: %w", err)
	}
	return fileblob.OpenBucket(folder, &fileblob.Options{
		CreateDir:   true,
		DirFileMode: 0o700,
		NoTempDir:   true,
		Metadata:    fileblob.MetadataDontWrite,
	})
}

// filesFolder is the folder of the files, where their storage is one of this machine.
func filesFolder(cfg *config.Config) (folder string, local bool) {
	if cfg.FileStorageURL.Scheme() != "file" {
		return "", false
	}
	parsed, err := url.Parse(cfg.FileStorageURL.Reveal())
	if err != nil {
		return "", false // openFiles has refused it before
	}
	return parsed.Host + parsed.Path, true
}

// filesAnswer asks whether the storage of the files can be used. A folder is looked at itself: for the bucket one
// that is gone is empty.
func filesAnswer(cfg *config.Config, files *blob.Bucket) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if folder, local := filesFolder(cfg); local {
			return usable(folder)
		}
		ok, err := files.IsAccessible(ctx)
		if err == nil && !ok {
			err = errors.New("the bucket is not accessible")
		}
		return err
	}
}

// usable reports why files could not be stored in the folder.
func usable(folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &os.PathError{Op: "store files in", Path: folder, Err: syscall.ENOTDIR}
	}
	const enterAndWrite = 1 | 2 // X_OK | W_OK
	if err := syscall.Access(folder, enterAndWrite); err != nil {
		return &os.PathError{Op: "store files in", Path: folder, Err: err}
	}
	return nil
}
