package routes_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/limits"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/streams"
)

type noStreamMetrics struct{}

func (noStreamMetrics) StreamsInFlight(string, int)   {}
func (noStreamMetrics) StreamRejected(string, string) {}

// A stream's clock of a client that takes nothing is its own: the bound of ordinary answers neither puts it off nor
// cuts a stream short.
func TestAStreamBoundsItsOwnWrites(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		ordinary, stall, pause time.Duration
		reads                  bool
	}{
		"a client that stops reading": {ordinary: time.Hour, stall: 200 * time.Millisecond},
		"a client slower than an ordinary one may be": {
			ordinary: 20 * time.Millisecond, stall: time.Minute, pause: 1000 * time.Millisecond, reads: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, err := streams.New(streams.Options{
				Slots: limits.Slots{Leases: limits.NewMemory(time.Now)}, Places: 1, Lease: time.Minute, Heartbeat: time.Minute,
				Clocks:  streams.Clocks{FirstByte: time.Minute, Idle: time.Minute, Total: time.Minute, ClientStall: row.stall},
				Metrics: noStreamMetrics{}, Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			p := bare("GET", "/api/v1/said", auth.Read, func(c echo.Context, _ auth.Principal) error {
				opener := made.Openers().Of(c.Response(), c.Request(), streams.Caller{OrganizationID: 1, Frames: streams.APIv1})
				err := opener.Open(streams.Chatting, func(_ context.Context, out *streams.Sink) error {
					out.Start()
					for range 100 { // more than lies between server and client
						<-time.After(5 * time.Millisecond) // ordinary answers set a deadline anew after an eighth of it
						if err := out.Send(map[string]string{"delta": strings.Repeat("word ", 40_000)}); err != nil {
							return err
						}
					}
					return nil
				})
				ended <- err
				return err
			}, routes.LongAnswer())
			p.timeouts.WriteStall = row.ordinary
			h := open(t, p)
			conn, err := net.Dial("tcp", h.serve().Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "GET /api/v1/said HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+h.token(1, "full")+"\r\n\r\n")
			if row.reads {
				<-time.After(row.pause)
				if read, err := io.ReadAll(conn); err != nil || !strings.Contains(string(read), "end_of_stream") {
					t.Errorf("read %d bytes, %v", len(read), err)
				}
			}
			select {
			case err := <-ended:
				if (err == nil) != row.reads {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(20 * time.Second):
				t.Error("the stream has not ended")
			}
		})
	}
}
