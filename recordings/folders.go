package recordings

import (
	"cmp"
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

// Folder is a folder as the caller sees it. Name and texts are nil for one that may not read.
type Folder struct {
	Holding

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
	HoldingEdit
	Hotwords, InitialPrompt, Model Edit[string]
	// RetentionDays of -1 keep for good, which protects from deletion; of 0 follow the server.
	RetentionDays Edit[int]
	// Templates are there to be refused: this release has none, so that every one is not_found.
	NamingTemplateID, ExportTemplateID Edit[int64]
}

// Folders lists the caller's own folders by name, then those of its organization; there are so few that they need no pages.
func (s *Recordings) Folders(ctx context.Context, p auth.Principal) ([]Folder, error) {
	db := s.db.Read.WithContext(ctx)
	rows, err := countedFolders(usable(db, p))
	if err != nil {
		return nil, unavailable("list the folders", err)
	}
	slices.SortStableFunc(rows, func(a, b countedFolder) int {
		return cmp.Or(ownFirst(a.OrganizationID, b.OrganizationID), byName(a.Name, b.Name))
	})
	folders, err := foldersOf(db, p, rows)
	if err != nil {
		return nil, unavailable("list the folders", err)
	}
	return folders, nil
}

// Folder gives a folder of the caller's own or of its organization.
func (s *Recordings) Folder(ctx context.Context, p auth.Principal, id int64) (Folder, error) {
	folder, err := findFolder(s.db.Read.WithContext(ctx), p, id)
	if err != nil {
		return Folder{}, unavailable("find the folder", err)
	}
	return folder, nil
}

// CreateFolder makes a folder, of the organization where a group is named. A name that is there already is an
// invalid_parameter, as the contract has it.
func (s *Recordings) CreateFolder(ctx context.Context, p auth.Principal, edit FolderEdit) (Folder, error) {
	to, err := holderFor(p, edit.GroupID.Value)
	if err != nil {
		return Folder{}, err
	}
	row := models.Folder{
		OrganizationID: to.group(), UserID: p.UserID(), AutoShareOnApply: true, ShareWithGroupLead: true, CreatedAt: s.moment(),
	}
	if err := edit.write(to, &row); err != nil {
		return Folder{}, err
	}
	var folder Folder
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := to.lock(tx); err != nil {
			return err
		}
		if err := keepRoom(tx, &models.Folder{}, to, "folders"); err != nil {
			return err
		}
		if err := freeName(tx, &models.Folder{}, to, 0, row.Name, problems.InvalidParameter); err != nil {
			return err
		}
		if err := tx.Create(&row).Error; err != nil {
			return fmt.Errorf("insert the folder: %w", err)
		}
		folder, err = findFolder(tx, p, row.ID)
		return err
	})
	if err != nil {
		return Folder{}, unavailable("create the folder", err)
	}
	return folder, nil
}

// UpdateFolder changes a folder of the caller's own or of its organization, and moves it between the two. A name that
// another of them has is a conflict. What is shared by it follows, as with tags.
func (s *Recordings) UpdateFolder(ctx context.Context, p auth.Principal, id int64, edit FolderEdit) (Folder, error) {
	var folder Folder
	write := func(tx *gorm.DB) error {
		from, to, err := changing(tx, p, &models.Folder{}, id, edit.GroupID, noFolder())
		if err != nil {
			return err
		}
		row, err := lockFolder(tx, from, id)
		if err != nil {
			return err
		}
		before := sharing{row.AutoShareOnApply, row.ShareWithGroupLead}
		if err := edit.write(to, &row); err != nil {
			return err
		}
		if err := s.mayWiden(p, from, to, before, sharing{row.AutoShareOnApply, row.ShareWithGroupLead}); err != nil {
			return err
		}
		if err := settle(tx, &models.Folder{}, from, to, id, row.Name, "folders"); err != nil {
			return err
		}
		if from != to {
			row.OrganizationID, row.UserID = to.group(), p.UserID()
		}
		if err := tx.Model(&row).Select("*").Omit("id", "created_at").UpdateColumns(row).Error; err != nil {
			return fmt.Errorf("update the row: %w", err)
		}
		folder, err = findFolder(tx, p, id)
		return err
	}
	var err error
	if edit.GroupID.Given && given(edit.GroupID.Value) == 0 {
		err = s.clearFolder(ctx, p, id, edit.GroupID, othersThan(p), "change the folder", write)
	} else if err = s.db.Transaction(ctx, write); err != nil {
		err = unavailable("change the folder", err)
	}
	if err == nil && edit.HoldingEdit != (HoldingEdit{}) {
		err = s.reshareFiled(ctx, p, id)
	}
	if err != nil {
		return Folder{}, err
	}
	return folder, nil
}

// DeleteFolder deletes a folder of the caller's own or of its organization. Its recordings stay, in no folder, which each
// thereby changes.
func (s *Recordings) DeleteFolder(ctx context.Context, p auth.Principal, id int64) error {
	return s.clearFolder(ctx, p, id, Edit[int64]{}, everybodys, "delete the folder", func(tx *gorm.DB) error {
		return tx.Delete(&models.Folder{}, id).Error
	})
}

// clearFolder takes the recordings of some out of a folder, in portions, and does the rest once there are none any more.
func (s *Recordings) clearFolder(
	ctx context.Context, p auth.Principal, id int64, group Edit[int64], whose owners, attempt string, rest func(tx *gorm.DB) error,
) error {
	var done *models.Recording // in the order of the folder's index, whose dead entries no portion need pass again
	return s.inPortions(ctx, attempt, func(tx *gorm.DB) (left bool, err error) {
		from, _, err := changing(tx, p, &models.Folder{}, id, group, noFolder())
		if err != nil {
			return false, err
		}
		filed := whose(tx.Model(&models.Recording{}), "recordings.id").Where("folder_id = ?", id).Session(&gorm.Session{})
		inside := filed.Select("id", "created_at")
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
		if _, err := lockFolder(tx, from, id); err != nil {
			return false, err
		}
		var more int64
		if err := filed.Limit(1).Count(&more).Error; err != nil || more > 0 {
			return true, err
		}
		return false, rest(tx)
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
	if err := s.changedAll(tx, rows, map[string]any{"folder_id": nil}, FieldFolder); err != nil {
		return err
	}
	return s.followShares(tx, rows)
}

func (e FolderEdit) write(to holder, row *models.Folder) error {
	e.HoldingEdit.write(to, &row.AutoShareOnApply, &row.ShareWithGroupLead)
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

// lockFolder finds a folder of the holder's, which stays as it is until the transaction is over.
func lockFolder(tx *gorm.DB, of holder, id int64) (models.Folder, error) {
	var rows []models.Folder
	if err := of.things(locking(tx)).Where("id = ?", id).Limit(1).Find(&rows).Error; err != nil {
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
		Select(models.Columns(db, &models.Folder{}) + ", (SELECT COUNT(*) FROM recordings WHERE recordings.folder_id = folders.id) AS recording_count").
		Limit(2 * maxBelongings).Find(&rows).Error
	return rows, err
}

// findFolder gives a folder of the caller's own or of its organization, with its count.
func findFolder(db *gorm.DB, p auth.Principal, id int64) (Folder, error) {
	rows, err := countedFolders(usable(db, p).Where("folders.id = ?", id))
	if err != nil {
		return Folder{}, fmt.Errorf("read the folder: %w", err)
	}
	if len(rows) == 0 {
		return Folder{}, noFolder()
	}
	folders, err := foldersOf(db, p, rows)
	if err != nil {
		return Folder{}, err
	}
	return folders[0], nil
}

// foldersOf are the folders as the caller sees them.
func foldersOf(db *gorm.DB, p auth.Principal, rows []countedFolder) ([]Folder, error) {
	name := ""
	if slices.ContainsFunc(rows, func(row countedFolder) bool { return row.OrganizationID != nil }) {
		var err error
		if name, err = groupName(db, p); err != nil {
			return nil, err
		}
	}
	folders := make([]Folder, len(rows))
	for i, row := range rows {
		folders[i] = Folder{
			Holding: holdingOf(p, row.OrganizationID, name, row.AutoShareOnApply, row.ShareWithGroupLead),
			ID:      row.ID, Color: row.Color, DefaultLanguage: row.DefaultLanguage,
			MinSpeakers: row.DefaultMinSpeakers, MaxSpeakers: row.DefaultMaxSpeakers, Model: row.DefaultTranscriptionModel,
			ProtectFromDeletion: row.ProtectFromDeletion, RetentionDays: row.RetentionDays,
			CreatedAt: row.CreatedAt, RecordingCount: row.RecordingCount,
		}
		if p.MayRead() {
			folders[i].Name, folders[i].CustomPrompt = &row.Name, row.CustomPrompt
			folders[i].Hotwords, folders[i].InitialPrompt = row.DefaultHotwords, row.DefaultInitialPrompt
		}
	}
	return folders, nil
}
