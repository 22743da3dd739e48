package server

import (
	"fmt"
	"time"

	"github.com/stenometer/stenometer/integrations"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/recordings"
	"github.com/stenometer/stenometer/routes"
	"github.com/stenometer/stenometer/sealed"
	"github.com/stenometer/stenometer/spool"
)

// importProgressEvery is the time between two notes of how far an import is: whoever polls sees it move.
const importProgressEvery = time.Second

// joinInbound makes what takes in recordings that nobody uploads.
func (s *Server) joinInbound() error {
	keys, err := sealed.New(s.config.SecretKey.Reveal())
	if err != nil {
		return fmt.Errorf("joining the integrations: %w", err)
	}
	s.integrations = integrations.New(s.db, keys, s.now)
	s.spool = spool.New(s.temporary(), int64(s.config.SpoolMB)<<20)
	s.imports = recordings.ImportOptions{
		Strangers: outbound.NewStrangers(outbound.StrangersOptions{
			Intranet: s.config.WebhookIntranet.Whole(), Own: []string{s.config.ListenAddr, s.config.MetricsAddr},
		}),
		Sealed: keys, Timeout: s.config.ImportTimeout, Stall: s.config.UploadStallTimeout, ProgressEvery: importProgressEvery,
	}
	return nil
}

// signing is how signed deliveries are judged.
func (s *Server) signing() routes.Signing {
	return routes.Signing{Keys: s.integrations, Spool: s.spool, Window: s.config.HookWindow}
}
