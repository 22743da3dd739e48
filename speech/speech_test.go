package speech_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stenometer/stenometer/budgets"
	"github.com/stenometer/stenometer/budgets/budgetstest"
	"github.com/stenometer/stenometer/media"
	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/models/modelstest"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/speech"
	"github.com/stenometer/stenometer/tests/asrtest"
)

const key = "sk-key"

func newMedia(t *testing.T) *media.Media {
	t.Helper()
	m, err := media.New(media.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// rig is a transcriber in front of a scripted service.
type rig struct {
	service *asrtest.Server
	media   *media.Media
	temp    string
	db      *models.DB
	purse   budgets.Purse
	*speech.Transcriber
}

// fund makes a database and a purse on it, with the prices that are built in.
func fund(t *testing.T, change func(*budgets.Options)) (*models.DB, budgets.Purse) {
	t.Helper()
	db := modelstest.SQLite(t)
	user := modelstest.Account(t, db, "o", "o", "editor")
	return db, budgetstest.New(t, db, "", change).Purses().Of(budgets.Payer{OrganizationID: user.OrganizationID, UserID: user.ID})
}

// ledger is what the calls were charged, in their order.
func (r rig) ledger(t *testing.T) []models.LedgerEntry {
	t.Helper()
	var entries []models.LedgerEntry
	if err := r.db.Read.Order("id").Find(&entries).Error; err != nil {
		t.Fatal(err)
	}
	return entries
}

// Transcribe is the Transcriber's, paid by the rig's purse.
func (r rig) Transcribe(ctx context.Context, audio speech.Audio, request speech.Request) (speech.Transcript, error) {
	return r.Transcriber.Transcribe(ctx, r.purse, audio, request)
}

// newRig makes an OpenAI-compatible engine unless change says otherwise.
func newRig(t *testing.T, change func(*speech.Options, *asrtest.Server)) rig {
	t.Helper()
	r := rig{service: asrtest.New(t), media: newMedia(t), temp: t.TempDir()}
	options := speech.Options{BaseURL: r.service.BaseURL(), APIKey: key, Model: "whisper-1", Client: &http.Client{}, Timeout: time.Minute, Media: r.media}
	if change != nil {
		change(&options, r.service)
	}
	engine, err := speech.New(options)
	if err != nil {
		t.Fatal(err)
	}
	r.Transcriber = speech.NewTranscriber(engine, r.media, speech.TranscriberOptions{
		TempDir: r.temp, Backoff: time.Millisecond, MaxWait: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
		Breaker: outbound.NewBreaker(time.Millisecond, time.Now),
	})
	r.db, r.purse = fund(t, nil)
	t.Cleanup(func() {
		if left, err := os.ReadDir(r.temp); err != nil || len(left) > 0 {
			t.Errorf("left behind in the temp folder: %v, %v", left, err)
		}
	})
	return r
}

// beeps is a recording of count words, one every five seconds, in the format of the name's extension. What Probe and
// Duration would say of it is known.
func (r rig) beeps(t *testing.T, name string, count int) speech.Audio {
	t.Helper()
	length := time.Duration(count) * 5 * time.Second
	wav := filepath.Join(t.TempDir(), "beeps.wav")
	if err := asrtest.WriteBeeps(wav, count, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(name) == ".wav" {
		return speech.Audio{Path: wav, Info: media.WAV().Info(), Length: length}
	}
	path := filepath.Join(t.TempDir(), name)
	format := map[string]media.Format{".mp3": media.MP3(), ".flac": media.FLAC()}[filepath.Ext(name)]
	if err := r.media.Convert(context.Background(), wav, path, format, media.Stretch{}); err != nil {
		t.Fatal(err)
	}
	return speech.Audio{Path: path, Info: format.Info(), Length: length}
}

// audio is a file as the product would find it.
func (r rig) audio(t *testing.T, path string) speech.Audio {
	t.Helper()
	info, err := r.media.Probe(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	length, err := r.media.Duration(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	return speech.Audio{Path: path, Info: info, Length: length}
}

func (r rig) transcribe(t *testing.T, audio speech.Audio, request speech.Request) speech.Transcript {
	t.Helper()
	transcript, err := r.Transcribe(context.Background(), audio, request)
	if err != nil {
		t.Fatal(err)
	}
	return transcript
}
