package auth

import (
	"net/netip"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stenometer/stenometer/limits"
)

const visitKey = "auth.visit"

// visit is what the guard knows of one request, and what its answer must tell of limits.
type visit struct {
	address   netip.Addr
	counted   netip.Addr
	principal Principal
	// hash or cookie is the credential, by which it is looked up again while a stream is open.
	hash    [32]byte
	cookie  string
	rule    *rule
	states  []limits.State
	refused bool
	// admitted is true of a request whose caller was found by its body.
	admitted bool
	now      func() time.Time
	// The room of the stacks of most requests: deciding about them allocates nothing. Paid ones have more limits, and
	// room for those would be made and cleared for every request.
	stackRoom [2]limits.Limit
	stateRoom [2]limits.State
}

// visit begins the guard's account of a request. The headers are written just before the answer's first byte,
// after whatever the handler set, so that no handler can leave them out or change them.
func (g *Guard) visit(c echo.Context) *visit {
	address := g.addresses.Of(c.Request())
	v := &visit{address: address, counted: Counted(address), now: g.now}
	c.Set(visitKey, v)
	c.Response().Before(func() { v.writeHeaders(c.Response().Header()) })
	return v
}

func visitOf(c echo.Context) *visit {
	v, _ := c.Get(visitKey).(*visit)
	return v
}

// room is where a decision's states may be written: behind those of the decision before.
func (v *visit) room() []limits.State {
	return v.stateRoom[min(len(v.states), len(v.stateRoom)):]
}

// tell adds states to those that the answer's headers tell.
func (v *visit) tell(states []limits.State) {
	if len(v.states) == 0 {
		v.states = states
		return
	}
	v.states = append(v.states, states...)
}

// PrincipalOf is who the guard let in; the zero Principal on rows without a guard.
func PrincipalOf(c echo.Context) Principal {
	if v := visitOf(c); v != nil {
		return v.principal
	}
	return Principal{}
}

// AddressOf is the client's address as limits count it; the zero Addr where nothing is counted.
func AddressOf(c echo.Context) netip.Addr {
	if v := visitOf(c); v != nil {
		return v.counted
	}
	return netip.Addr{}
}

// ClientAddressOf is the client's whole address, for the audit log; empty where nobody looked for it.
func ClientAddressOf(c echo.Context) string {
	if v := visitOf(c); v != nil && v.address.IsValid() {
		return v.address.String()
	}
	return ""
}

// AddDecision adds limits that a story consulted itself to those that the answer's headers tell.
func AddDecision(c echo.Context, states []limits.State) {
	if v := visitOf(c); v != nil {
		v.tell(states)
	}
}

// Refused counts a refusal and tells the headers that the answer is one. The door calls it for every limits.Refusal,
// whoever took the decision.
func (g *Guard) Refused(c echo.Context, decision limits.Decision) {
	g.metrics.LimitRefused(decision.States[decision.Binding].Plan.Name)
	if v := visitOf(c); v != nil {
		v.tell(decision.States)
		v.refused = true
	}
}
