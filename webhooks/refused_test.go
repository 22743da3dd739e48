package webhooks_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"gorm.io/gorm"

	"github.com/stenometer/stenometer/models"
	"github.com/stenometer/stenometer/outbound"
	"github.com/stenometer/stenometer/webhooks"
)

// Rule: an address that is not called when its turn comes, whatever it was when it was accepted, stands in the delivery
// log with its reason, and nobody is connected to. (Must show 3; the table of spellings is that of package outbound.)
func TestWhatIsNotCalledStandsInTheLog(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		var connections atomic.Int64
		inside := httptest.NewUnstartedServer(http.NotFoundHandler())
		inside.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		inside.Start()
		t.Cleanup(inside.Close)
		_, port, err := net.SplitHostPort(inside.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		addresses := map[string]outbound.Reason{
			"http://127.0.0.1:" + port + "/":               outbound.AddressRefused,
			"http://[::1]:" + port + "/":                   outbound.AddressRefused,
			"http://[::ffff:127.0.0.1]:" + port + "/":      outbound.AddressRefused,
			"http://[64:ff9b::7f00:1]:" + port + "/":       outbound.AddressRefused,
			"http://0.0.0.0:" + port + "/":                 outbound.AddressRefused,
			"http://169.254.169.254/latest/meta-data":      outbound.AddressRefused,
			"http://[fd00:ec2::254]/latest/meta-data":      outbound.AddressRefused,
			"http://10.0.0.1/":                             outbound.AddressRefused,
			"http://224.0.0.1/":                            outbound.AddressRefused,
			"http://2130706433:" + port + "/":              outbound.HostInvalid,
			"http://0x7f.1:" + port + "/":                  outbound.HostInvalid,
			"http://user@127.0.0.1:" + port + "/":          outbound.URLInvalid,
			"gopher://127.0.0.1:" + port + "/":             outbound.SchemeRefused,
			"http://nothing.invalid/":                      outbound.NameUnknown,
			"http://example.org\\@127.0.0.1:" + port + "/": outbound.URLInvalid,
		}
		accepting := newRig(t, url, func(o *webhooks.Options) { o.MaxPerUser = len(addresses) })
		wanted := make(map[int64]outbound.Reason)
		for address, reason := range addresses {
			e, _ := accepting.create(nowhere)
			wanted[e.ID] = reason
			accepting.write(func(tx *gorm.DB) error {
				return tx.Model(&models.Webhook{}).Where("id = ?", e.ID).UpdateColumn("url", address).Error
			})
		}
		accepting.deleted(1)
		r := newRig(t, url, func(o *webhooks.Options) {
			o.Attempts, o.Strangers = 1, outbound.NewStrangers(outbound.StrangersOptions{})
		})
		r.start()
		for id, reason := range wanted {
			until(t, "it is given up", func() bool { d := r.deliveries(id); return len(d) == 1 && d[0].FinishedAt != nil })
			if d := r.deliveries(id)[0]; d.Reason != webhooks.Reason(reason) || d.ResponseStatus != nil || d.Attempts != 1 {
				t.Errorf("%s is listed as %+v, want %s", r.endpoint(id).URL, d, reason)
			}
		}
		if n := connections.Load(); n > 0 {
			t.Errorf("%d connections were made", n)
		}
	})
}
