package tests

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/tests/servertest"
)

// Rule: an upload is never held in memory. Whatever its size, the server's memory grows by less than 64 MiB.
func TestALargeUploadDoesNotGrowTheMemory(t *testing.T) {
	measureUpload(t, 300<<20)
}

// Rule: the same for two gigabytes.
func TestSoakATwoGigabyteUploadDoesNotGrowTheMemory(t *testing.T) {
	if !servertest.Soak() {
		t.Skip("writes two gigabytes to the disk; make soak runs it")
	}
	measureUpload(t, 2<<30)
}

func measureUpload(t *testing.T, size int64) {
	t.Helper()
	environment := quiet(t).With(servertest.Environment{"MAX_UPLOAD_MB": "3000", "JOBS_MAX_CONCURRENT_PER_ORG": "0"})
	process := servertest.Launch(t, servertest.PlainBinary(t), environment, "serve")
	process.AwaitReady()
	servertest.CreateUser(t, environment, "ada@example.org")
	client := process.Client(servertest.CreateToken(t, environment, "ada@example.org"))
	if answer := client.Upload("first.wav", tone(t), nil); answer.Status != http.StatusAccepted { // warms up
		t.Fatalf("a small upload: %v", answer)
	}
	// 5 sets the peak back to what is in use now.
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", process.PID()), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	before := peakMemory(t, process)
	head := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"long.wav\"\r\n\r\n"
	body := io.MultiReader(strings.NewReader(head), bytes.NewReader(silenceHeader(t, size)),
		io.LimitReader(&counter{limit: size}, size-44), strings.NewReader("\r\n--b--\r\n"))
	answer := client.Call(http.MethodPost, "/api/v1/recordings/upload", body,
		http.Header{"Content-Type": {"multipart/form-data; boundary=b"}})
	if answer.Status != http.StatusAccepted || answer.JSON(t)["file_size"] != float64(size) {
		t.Fatalf("got %v, want 202 with %d bytes", answer, size)
	}
	grown := peakMemory(t, process) - before
	t.Logf("%d MiB in: the memory grew by %.1f MiB", size>>20, float64(grown)/(1<<20))
	if grown >= 64<<20 {
		t.Errorf("the memory grew by %d MiB, want less than 64", grown>>20)
	}
}

// silenceHeader is the header of a WAV file of this size, header included.
func silenceHeader(t *testing.T, size int64) []byte {
	t.Helper()
	var header bytes.Buffer
	for _, field := range []any{
		[]byte("RIFF"), uint32(size - 8), []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1),
		uint32(16000), uint32(32000), uint16(2), uint16(16), []byte("data"), uint32(size - 44),
	} {
		if err := binary.Write(&header, binary.LittleEndian, field); err != nil {
			t.Fatal(err)
		}
	}
	return header.Bytes()
}

// peakMemory is the most memory that the process has had resident, in bytes.
func peakMemory(t *testing.T, process *servertest.Process) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatal("the kernel tells no peak of the memory")
	return 0
}
