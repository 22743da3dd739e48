package main

// walk is what the mutations of the guard must be noticed by: the walk over the live table, or the guard's own tests.
const walk = "TestEveryGuardBitesOnEveryRoute"

// mutations lists every guard of the code, taken out. Add a line for each new one.
func mutations() []mutation {
	guard := func(name, old string) mutation {
		return mutation{name: name, file: "auth/guard.go", old: old, new: "", run: walk, packages: []string{"./tests"}}
	}
	return []mutation{
		guard("the guard does not authenticate", `			if err := g.authenticate(c, v); err != nil {
				return err
			}
`),
		guard("the guard does not check the scope", `			if err := g.authorize(v.principal, rule); err != nil {
				return err
			}
`),
		guard("the guard asks for no same-origin proof", `			if err := g.requireSameOrigin(c.Request(), v.principal); err != nil {
				return err
			}
`),
		guard("the guard admits without its limits", `			if err := g.admit(c, v, forCaller(rule.stackOf(v.principal), v.principal, v.counted)); err != nil {
				return err
			}
`),
	}
}
