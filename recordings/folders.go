package recordings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
)

const (
	defaultFolderColor = "#10B981"
	// keptForGood is the retention of a folder whose recordings stay.
	keptForGood      = -1
	maxRetentionDays = 36_500
)

// Folder is a folder as its account sees it. Name and texts are nil for a caller that may not read.
type Folder struct {
	ID                       int64
	Name                     *string
	Color                    string
	CustomPrompt             *string
	DefaultLanguage          *string
	MinSpeakers, MaxSpeakers *int
	Hotwords, InitialPrompt  *string
	Model                    *string
	ProtectFromDeletion      bool
	RetentionDays            *int
	CreatedAt                time.Time
	RecordingCount           int64
}

// FolderEdit is what becomes of a folder.
type FolderEdit struct {
	Preset
	Hotwords, InitialPrompt, Model Edit[string]
	// RetentionDays of -1 keep for good, which protects from deletion; of 0 follow the server.
	RetentionDays Edit[int]
	// Templates are there to be refused: this release has none, so that every one is not_found.
	NamingTemplateID, ExportTemplateID Edit[int64]
}

// Folders lists the caller's folders by name; there are so few that they need no pages.
func (s *Recordings) Folders(ctx context.Context, p auth.Principal) ([]Folder, error) {
	rows, err := countedFolders(s.db.Read.WithContext(ctx).Where("folders.user_id = ?", p.UserID()))
	if err != nil {
		return nil, unavailable("list the folders", err)
	}
	slices.SortStableFunc(rows, func(a, b countedFolder) int { return byName(a.Name, b.Name) })
	folders := make([]Folder, len(rows))
	for i, row := range rows {
		folders[i] = folderOf(p, row)
	}
	return folders, nil
}

// Folder gives a folder of the caller's own.
func (s *Recordings) Folder(ctx context.Context, p auth.Principal, id int64) (Folder, error) {
	folder, err := findFolder(s.db.Read.WithContext(ctx), p, id)
	if err != nil {
		return Folder{}, unavailable("find the folder", err)
	}
	return folder, nil
}

// CreateFolder makes a folder. A name that the account has already is an invalid_parameter, as the contract has it.
func (s *Recordings) CreateFolder(ctx context.Context, p auth.Principal, edit FolderEdit) (Folder, error) {
	row := models.Folder{UserID: p.UserID(), CreatedAt: s.moment()}
	if err := edit.write(&row); err != nil {
		return Folder{}, err
	}
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := keepRoom(tx, &models.Folder{}, p.UserID(), "folders"); err != nil {
			return err
		}
		if err := freeName(tx, &models.Folder{}, row.UserID, 0, row.Name, problems.InvalidParameter); err != nil {
			return err
		}
		return tx.Create(&row).Error
	})
	if err != nil {
		return Folder{}, unavailable("create the folder", err)
	}
	return folderOf(p, countedFolder{Folder: row}), nil
}

// UpdateFolder changes a folder of the caller's own. A name that another of them has is a conflict.
func (s *Recordings) UpdateFolder(ctx context.Context, p auth.Principal, id int64, edit FolderEdit) (Folder, error) {
	var folder Folder
	err := s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := lockAccount(tx, p.UserID()); err != nil {
			return err
		}
		row, err := lockFolder(tx, p.UserID(), id)
		if err != nil {
			return err
		}
		if err := edit.write(&row); err != nil {
			return err
		}
		if err := freeName(tx, &models.Folder{}, row.UserID, row.ID, row.Name, problems.Conflict); err != nil {
			return err
		}
		if err := tx.Model(&row).Select("*").Omit("id", "user_id", "created_at").UpdateColumns(row).Error; err != nil {
			return fmt.Errorf("update the row: %w", err)
		}
		folder, err = findFolder(tx, p, id)
		return err
	})
	if err != nil {
		return Folder{}, unavailable("change the folder", err)
	}
	return folder, nil
}

// DeleteFolder deletes a folder of the caller's own. Its recordings stay, in no folder, which each thereby changes.
func (s *Recordings) DeleteFolder(ctx context.Context, p auth.Principal, id int64) error {
	var done *models.Recording // in the order of the folder's index, whose dead entries no portion need pass again
	return s.inPortions(ctx, "delete the folder", func(tx *gorm.DB) (left bool, err error) {
		inside := tx.Select("id", "created_at").Where("folder_id = ? AND user_id = ?", id, p.UserID())
		if done != nil {
			inside = inside.Where("(created_at, id) < (?, ?)", done.CreatedAt, done.ID)
		}
		var rows []models.Recording
		if err := inside.Order("created_at DESC, id DESC").Limit(portion).Find(&rows).Error; err != nil {
			return false, fmt.Errorf("find the recordings of the folder: %w", err)
		}
		if err := s.takeOut(tx, id, rows); err != nil {
			return false, err
		}
		if len(rows) == portion {
			done = &rows[portion-1]
			return true, nil
		}
		done = nil
		// Recordings are locked before folders by whoever locks both. What was put in since is seen under the lock.
		if _, err := lockFolder(tx, p.UserID(), id); err != nil {
			return false, err
		}
		var more int64
		if err := tx.Model(&models.Recording{}).Where("folder_id = ?", id).Limit(1).Count(&more).Error; err != nil || more > 0 {
			return true, err
		}
		return false, tx.Delete(&models.Folder{}, id).Error
	})
}

// takeOut puts a portion of recordings into no folder.
func (s *Recordings) takeOut(tx *gorm.DB, folderID int64, rows []models.Recording) error {
	ids := make([]int64, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	rows, err := lockAll(tx, ids)
	if err != nil {
		return err
	}
	// Another may have moved some before they were locked.
	rows = slices.DeleteFunc(rows, func(row models.Recording) bool { return given(row.FolderID) != folderID })
	return s.changedAll(tx, rows, map[string]any{"folder_id": nil}, FieldFolder)
}

func (e FolderEdit) write(row *models.Folder) error {
	if given(e.NamingTemplateID.Value) != 0 || given(e.ExportTemplateID.Value) != 0 {
		return problems.New(problems.NotFound, "There is no such template.")
	}
	for _, text := range []struct {
		name  string
		edit  Edit[string]
		bound int
		to    **string
	}{
		{"default_hotwords", e.Hotwords, maxHints, &row.DefaultHotwords},
		{"default_initial_prompt", e.InitialPrompt, maxHints, &row.DefaultInitialPrompt},
		{"default_transcription_model", e.Model, maxModel, &row.DefaultTranscriptionModel},
	} {
		if err := writeText(text.name, text.edit, text.bound, text.to); err != nil {
			return err
		}
	}
	if e.RetentionDays.Given {
		days := given(e.RetentionDays.Value)
		if days < keptForGood || days > maxRetentionDays {
			return problems.New(problems.InvalidParameter, "retention_days must be %d to %d.", keptForGood, maxRetentionDays)
		}
		row.RetentionDays, row.ProtectFromDeletion = nil, days == keptForGood
		if days != 0 {
			row.RetentionDays = &days
		}
	}
	return e.Preset.write(presetColumns{
		name: &row.Name, color: &row.Color, prompt: &row.CustomPrompt, language: &row.DefaultLanguage,
		minSpeakers: &row.DefaultMinSpeakers, maxSpeakers: &row.DefaultMaxSpeakers,
	}, defaultFolderColor)
}

// lockFolder finds a folder of the account, which stays as it is until the transaction is over.
func lockFolder(tx *gorm.DB, userID, id int64) (models.Folder, error) {
	var rows []models.Folder
	if err := locking(tx).Where("id = ? AND user_id = ?", id, userID).Limit(1).Find(&rows).Error; err != nil {
		return models.Folder{}, fmt.Errorf("find the folder: %w", err)
	}
	if len(rows) == 0 {
		return models.Folder{}, noFolder()
	}
	return rows[0], nil
}

// countedFolder is a folder with how many recordings are in it.
type countedFolder struct {
	models.Folder
	RecordingCount int64
}

// countedFolders reads folders with their counts, which the index of each folder's recordings answers.
func countedFolders(db *gorm.DB) ([]countedFolder, error) {
	var rows []countedFolder
	err := db.Table("folders").
		Select("folders.*, (SELECT COUNT(*) FROM recordings WHERE recordings.folder_id = folders.id) AS recording_count").
		Limit(maxBelongings).Find(&rows).Error
	return rows, err
}

// findFolder gives a folder of the caller's own with its count.
func findFolder(db *gorm.DB, p auth.Principal, id int64) (Folder, error) {
	rows, err := countedFolders(db.Where("folders.id = ? AND folders.user_id = ?", id, p.UserID()))
	if err != nil {
		return Folder{}, fmt.Errorf("read the folder: %w", err)
	}
	if len(rows) == 0 {
		return Folder{}, noFolder()
	}
	return folderOf(p, rows[0]), nil
}

func folderOf(p auth.Principal, row countedFolder) Folder {
	folder := Folder{
		ID: row.ID, Color: row.Color, DefaultLanguage: row.DefaultLanguage,
		MinSpeakers: row.DefaultMinSpeakers, MaxSpeakers: row.DefaultMaxSpeakers, Model: row.DefaultTranscriptionModel,
		ProtectFromDeletion: row.ProtectFromDeletion, RetentionDays: row.RetentionDays,
		CreatedAt: row.CreatedAt, RecordingCount: row.RecordingCount,
	}
	if p.MayRead() {
		folder.Name, folder.CustomPrompt = &row.Name, row.CustomPrompt
		folder.Hotwords, folder.InitialPrompt = row.DefaultHotwords, row.DefaultInitialPrompt
	}
	return folder
}
