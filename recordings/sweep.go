package recordings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/stenometer/stenometer/models"
)

// Sweep is what a sweep found. Only what nothing refers to and is older than Options.SweepAge is ever removed, and
// only with Options.SweepRemove; rows without their file are reported.
type Sweep struct {
	// TempFiles are old temporary files, Unreferenced old stored files without a recording, Missing recordings
	// whose file is not in the storage.
	TempFiles, Unreferenced, Missing int
	// Removed is how many of the first two kinds are gone.
	Removed int
}

// Start indexes for search what is behind, and sweeps and forgets old tombstones now and then, until Stop. Where
// Options.SweepInterval is 0 it only indexes.
func (s *Recordings) Start(ctx context.Context) {
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.done = make(chan struct{})
	indexed := make(chan struct{})
	go func() {
		defer close(indexed)
		s.keepIndexed(ctx)
	}()
	go func() {
		defer close(s.done)
		defer func() { <-indexed }()
		if s.SweepInterval <= 0 {
			return
		}
		ticker := time.NewTicker(s.SweepInterval)
		defer ticker.Stop()
		for {
			if _, err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
				s.Logger.ErrorContext(ctx, "the sweep for leftover files failed", "error", err.Error())
			}
			if _, err := s.PruneTombstones(ctx); err != nil && ctx.Err() == nil {
				s.Logger.ErrorContext(ctx, "deletions that are long past could not be forgotten", "error", err.Error())
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
}

// Stop ends the sweeping and waits for it, as long as ctx allows. Without a Start it does nothing.
func (s *Recordings) Stop(ctx context.Context) error {
	if s.stop == nil {
		return nil
	}
	s.stop()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the sweep to end: %w", ctx.Err())
	}
}

// Sweep looks once for temporary files, stored files and rows that are out of step, reports them, and then removes
// what may be removed.
func (s *Recordings) Sweep(ctx context.Context) (Sweep, error) {
	var found Sweep
	old := s.Now().Add(-s.SweepAge)
	temps, err := s.oldTemps(old)
	if err != nil {
		return found, err
	}
	found.TempFiles = len(temps)
	var unreferenced []string
	for folder := range 256 {
		keys, missing, err := s.compare(ctx, fmt.Sprintf("%s%02x/", keyPrefix, folder), old)
		if err != nil {
			return found, err
		}
		unreferenced = append(unreferenced, keys...)
		found.Missing += missing
	}
	found.Unreferenced = len(unreferenced)
	if found.TempFiles+found.Unreferenced+found.Missing > 0 {
		s.Logger.WarnContext(ctx, "leftover or missing files found", "temp_files", found.TempFiles,
			"unreferenced", found.Unreferenced, "missing", found.Missing, "remove", s.SweepRemove)
	}
	if !s.SweepRemove {
		return found, nil
	}
	for _, path := range temps {
		if err := os.RemoveAll(path); err != nil {
			return found, fmt.Errorf("remove a temporary file: %w", err)
		}
		found.Removed++
	}
	for _, key := range unreferenced {
		removed, err := s.removeUnreferenced(ctx, key)
		if err != nil {
			return found, err
		}
		if removed {
			found.Removed++
		}
	}
	return found, nil
}

// removeUnreferenced removes one stored file, after asking once more, by the key itself, whether anything refers to it.
func (s *Recordings) removeUnreferenced(ctx context.Context, key string) (bool, error) {
	var count int64
	if err := s.db.Read.WithContext(ctx).Model(&models.Recording{}).Where("storage_key = ?", key).Count(&count).Error; err != nil {
		return false, fmt.Errorf("look for a row of %s: %w", key, err)
	}
	if count > 0 {
		return false, nil
	}
	if err := s.Files.Delete(ctx, key); err != nil && gcerrors.Code(err) != gcerrors.NotFound {
		return false, fmt.Errorf("remove a stored file: %w", err)
	}
	s.Logger.InfoContext(ctx, "a stored file without a recording was removed", "key", key)
	return true, nil
}

// oldTemps lists what lies in the folder for temporary files since before old.
func (s *Recordings) oldTemps(old time.Time) ([]string, error) {
	entries, err := os.ReadDir(s.TempDir)
	if err != nil {
		return nil, fmt.Errorf("list temporary files: %w", err)
	}
	var paths []string
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // its request or job ended meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("look at a temporary file: %w", err)
		}
		if info.ModTime().Before(old) {
			paths = append(paths, filepath.Join(s.TempDir, entry.Name()))
		}
	}
	return paths, nil
}

// compare holds one folder of the storage against the rows that refer to it. Rows are read first: a row's file is
// there before the row is, so that a listing made afterwards shows it.
func (s *Recordings) compare(ctx context.Context, folder string, old time.Time) (unreferenced []string, missing int, err error) {
	referenced := map[string]int64{}
	var rows []models.Recording
	err = s.db.Read.WithContext(ctx).Select("id", "storage_key").
		Where("storage_key LIKE ?", folder+"%").Find(&rows).Error
	if err != nil {
		return nil, 0, fmt.Errorf("list the rows of %s: %w", folder, err)
	}
	for _, row := range rows {
		referenced[row.StorageKey] = row.ID
	}
	objects := s.Files.List(&blob.ListOptions{Prefix: folder})
	for {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, 0, fmt.Errorf("list the files of %s: %w", folder, err)
		}
		if _, ok := referenced[object.Key]; ok {
			delete(referenced, object.Key)
		} else if object.ModTime.Before(old) {
			unreferenced = append(unreferenced, object.Key)
		}
	}
	for key, id := range referenced {
		gone, err := s.missing(ctx, key, id)
		if err != nil {
			return nil, 0, err
		}
		if gone {
			missing++
			s.Logger.ErrorContext(ctx, "the audio of a recording is missing from the storage", "recording", id, "key", key)
		}
	}
	return unreferenced, missing, nil
}

// missing asks again about one row and its file: it may have been deleted while the folder was listed.
func (s *Recordings) missing(ctx context.Context, key string, id int64) (bool, error) {
	exists, err := s.Files.Exists(ctx, key)
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", key, err)
	}
	if exists {
		return false, nil
	}
	var count int64
	err = s.db.Read.WithContext(ctx).Model(&models.Recording{}).
		Where("id = ? AND storage_key = ?", id, key).Count(&count).Error
	if err != nil {
		return false, fmt.Errorf("look for the row of %s: %w", key, err)
	}
	return count == 1, nil
}
