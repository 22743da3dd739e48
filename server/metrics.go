package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
)

// startMetrics serves the metrics on METRICS_ADDR, an address of their own: they need no credential there, and the
// public address does not have them.
func (s *Server) startMetrics(ctx context.Context) error {
	if s.config.MetricsAddr == "" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.config.MetricsAddr)
	if err != nil {
		return fmt.Errorf("listening on METRICS_ADDR: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.Handler())
	s.metricsServer = &http.Server{Handler: mux, ReadHeaderTimeout: s.config.HeaderTimeout}
	s.metricsServed = make(chan error, 1)
	go func() { s.metricsServed <- s.metricsServer.Serve(listener) }()
	s.program.Logger.Info("serving metrics", "address", listener.Addr().String())
	return nil
}

func (s *Server) stopMetrics(ctx context.Context) error {
	if s.metricsServer == nil {
		return nil
	}
	err := s.metricsServer.Shutdown(ctx)
	if ended := <-s.metricsServed; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serving metrics: %w", ended))
	}
	return err
}

// room is the free space of the data folder without what DISK_RESERVE_MB keeps for the database.
func (s *Server) room() (int64, error) {
	free, err := freeSpace(s.config.DataDir)()
	return free - int64(s.config.DiskReserveMB)<<20, err
}

// freeSpace tells how many bytes an ordinary user may still write to the disk of a folder.
func freeSpace(folder string) func() (int64, error) {
	return func() (int64, error) {
		var stat syscall.Statfs_t
		if err := syscall.Statfs(folder, &stat); err != nil {
			return 0, fmt.Errorf("asking for the free space of the data folder: %w", err)
		}
		return int64(stat.Bavail) * stat.Bsize, nil
	}
}
