package recordings_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/problems"
	"github.com/stenometer/stenometer/recordings"
)

// integration makes the row that deliveries are of.
func (r *rig) integration() int64 {
	r.t.Helper()
	row := models.Integration{
		PublicID: "0123456789abcdef", OrganizationID: r.user.OrganizationID, UserID: r.user.ID, Name: "Room", Scope: "member", Enabled: true,
		CreatedAt: time.Now().UTC(),
	}
	if err := r.db.Transaction(r.t.Context(), func(tx *gorm.DB) error { return tx.Create(&row).Error }); err != nil {
		r.t.Fatal(err)
	}
	return row.ID
}

// Rule: a delivery that was accepted makes nothing again: 50 of the same, one after another and at once, are one
// recording and one job, and so they are when that recording is deleted. (H-056)
func TestADeliveryIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		r := newRig(t, url, "", nil)
		file, until, integration := wav(1, 1), time.Now().Add(time.Hour), r.integration()
		deliver := func(id string) (recordings.Delivered, error) {
			return r.recordings.Deliver(t.Context(), r.owner, recordings.Delivery{
				IntegrationID: integration, Name: "Room", ID: id, Until: until, Body: bytes.NewReader(file),
			})
		}
		var racers sync.WaitGroup
		for range 4 {
			racers.Go(func() {
				if _, err := deliver("a"); err != nil && !problems.Is(err, problems.Timeout) {
					t.Error(err)
				}
			})
		}
		racers.Wait()
		first, err := deliver("a")
		if err != nil || !first.Already {
			t.Fatalf("%+v, %v", first, err)
		}
		for range 50 {
			if again, err := deliver("a"); err != nil || again != first {
				t.Fatalf("again %+v, %v", again, err)
			}
		}
		if r.recordingCount() != 1 || len(r.left()) != 1 {
			t.Errorf("%d recordings, files %v", r.recordingCount(), r.left())
		}
		row, _ := r.row(first.RecordingID)
		if row.Source == nil || *row.Source != "hook" || *row.OriginalFilename != "Room" || row.UserID != r.user.ID {
			t.Errorf("the row is %+v", row)
		}
		if err := r.recordings.Delete(t.Context(), r.owner, first.RecordingID); err != nil {
			t.Fatal(err)
		}
		if again, err := deliver("a"); err != nil || again != first || r.recordingCount() != 0 {
			t.Errorf("after the deletion %+v, %v", again, err)
		}
		if other, err := deliver("b"); err != nil || other.Already {
			t.Errorf("another delivery: %+v, %v", other, err)
		}
	})
}

// Rule: what is too old to be sent again is forgotten, what is not media is refused and may be sent again.
func TestDeliveriesAreForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRig(t, sqliteURL(t), "", func(s *settings) { s.recordings.Now = func() time.Time { return now } })
	integration := r.integration()
	deliver := func(id string, file []byte) error {
		_, err := r.recordings.Deliver(t.Context(), r.owner, recordings.Delivery{
			IntegrationID: integration, Name: "Room", ID: id, Until: now.Add(time.Minute), Body: bytes.NewReader(file),
		})
		return err
	}
	expect(t, deliver("a", []byte("no music")), problems.InvalidMedia)
	for _, id := range []string{"a", "b"} {
		if err := deliver(id, wav(1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(2 * time.Minute)
	if err := deliver("c", wav(1, 1)); err != nil {
		t.Fatal(err)
	}
	var kept int64
	if err := r.db.Read.Model(&models.HookDelivery{}).Count(&kept).Error; err != nil || kept != 1 {
		t.Errorf("%d deliveries are remembered, %v", kept, err)
	}
}
