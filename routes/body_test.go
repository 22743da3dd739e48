package routes_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/auth"
	"github.com/stenometer/stenometer/routes"
)

func TestSlowAndShortBodies(t *testing.T) {
	t.Parallel()
	h := open(t, plan{timeouts: routes.Timeouts{BodyStall: 150 * time.Millisecond}})
	server := h.serve()
	start := func(path, scope, length string) string {
		return "POST " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + h.token(1, scope) +
			"\r\nContent-Type: application/json\r\nContent-Length: " + length + "\r\n\r\n"
	}
	stalled := send(t, server, start("/api/v1/recordings/upload", "upload", "100")+"12345")
	h.want(stalled, 408, "request_timeout")

	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, start("/api/v1/recordings/upload", "upload", "100")+"12345")
	_ = conn.(*net.TCPConn).CloseWrite()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(response.Body)
	h.want(answer{response, string(text)}, 400, "bad_request")

	over := send(t, server, "POST /api/v1/recordings/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+h.token(1, "upload")+
		"\r\nTransfer-Encoding: chunked\r\n\r\n"+strings.Repeat("40000\r\n"+strings.Repeat("x", 0x40000)+"\r\n", 17))
	h.want(over, 413, "payload_too_large")
}

// Rule: who sends a byte now and then is refused as one that stands still is; who has sent enough before may pause.
func TestABodyThatDripsIsRefused(t *testing.T) {
	t.Parallel()
	const drips = 12 // more than are waited for, each long before the stall that a busy machine could make of it
	h := open(t, plan{timeouts: routes.Timeouts{BodyStall: 500 * time.Millisecond, BodyLeast: 10_000}})
	server := h.serve()
	for before, want := range map[int]int{0: 408, 20_000: 200} {
		head := "POST /api/v1/recordings/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + h.token(1, "upload") +
			"\r\nContent-Length: " + strconv.Itoa(before+drips) + "\r\n\r\n"
		t.Run(strconv.Itoa(before), func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, head+strings.Repeat("x", before)); err != nil {
				t.Fatal(err)
			}
			go func() {
				for range drips {
					<-time.After(50 * time.Millisecond) // the pace is what is tested
					if _, err := io.WriteString(conn, "x"); err != nil {
						return // refused
					}
				}
			}()
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("a drip is answered %d, want %d", response.StatusCode, want)
			}
		})
	}
}

// The bound on a body's pauses ends with the body: a handler may think for longer than a body may pause.
func TestTheBoundOfABodyEndsWithIt(t *testing.T) {
	t.Parallel()
	p := bare("POST", "/api/v1/things", auth.Write, func(c echo.Context, _ auth.Principal) error {
		if err := routes.DecodeJSON(c, &struct{}{}); err != nil {
			return err
		}
		select {
		case <-c.Request().Context().Done():
			return errors.New("the request was given up while its client waits")
		case <-time.After(200 * time.Millisecond):
			return c.NoContent(http.StatusNoContent)
		}
	})
	p.timeouts.BodyStall = 30 * time.Millisecond
	h := open(t, p)
	a := send(t, h.serve(), "POST /api/v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+h.token(1, "write")+
		"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	h.want(a, 204, "")
}

// A body is refused at once where its length is declared: the client that waits for leave to send never gets it.
func TestExpectContinueIsRefusedBeforeTheBody(t *testing.T) {
	t.Parallel()
	h := open(t, plan{})
	a := send(t, h.serve(), "POST /api/v1/recordings/upload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+h.token(1, "upload")+
		"\r\nExpect: 100-continue\r\nContent-Length: 2000000000\r\n\r\n")
	h.want(a, 413, "payload_too_large")
}

func TestAClientThatTakesNothingIsCutOff(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	p := bare("GET", "/api/v1/long", auth.Read, func(c echo.Context, _ auth.Principal) error {
		piece := make([]byte, 1<<20)
		for range 256 {
			if _, err := c.Response().Write(piece); err != nil {
				failed <- err
				return err
			}
		}
		failed <- nil
		return nil
	}, routes.LongAnswer())
	p.timeouts.WriteStall = 100 * time.Millisecond
	h := open(t, p)
	server := h.serve()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /api/v1/long HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+h.token(1, "full")+"\r\n\r\n")
	select {
	case err := <-failed:
		if err == nil {
			t.Error("256 MiB went to a client that reads nothing")
		}
	case <-time.After(20 * time.Second):
		t.Error("a client that reads nothing holds its handler")
	}
}
