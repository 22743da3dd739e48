package main

// pageMutations take out what keeps what is typed into the pages, and what they are told, to those they are for.
func pageMutations() []mutation {
	page := func(name, file, standing, instead, noticed string) mutation {
		return mutation{name, "web/" + file, standing, instead, noticed, []string{"./web"}}
	}
	browser := func(name, standing, instead string) mutation {
		return mutation{name, "web/assets/account.js", standing, instead, "TestANewcomersWayInABrowser", []string{"./tests"}}
	}
	return []mutation{
		page("a page runs scripts of its own", "account.go", "script-src 'self'", "script-src 'self' 'unsafe-inline'", "TestThePagesOfAccounts"),
		page("a page of an account is kept", "account.go", "	keepToItself(c.Response().Header())\n	c.Response().Header().Set(\"Content-Security-Policy\"", "	c.Response().Header().Set(\"Content-Security-Policy\"", "TestThePagesOfAccounts"),
		page("a form is sent without the script", "account.go", "form-action 'none'; \" +", "\" +", "TestThePagesOfAccounts"),
		page("an address says what a page tells", "account.go", `failures[c.QueryParam("error")]`, `c.QueryParam("error")`, "TestAPageSaysWhatItKnows"),
		page("an address says where a sign-in leads", "account.go", `c.Redirect(http.StatusFound, "sign-in")`, `c.Redirect(http.StatusFound, c.QueryParam("next"))`, "TestTheBeginning"),
		browser("a link's token stays in the address", `if (link !== "") history.replaceState(null, "", location.pathname);`, ""),
		browser("who signs out stays signed in", `await ask("POST", "api/auth/logout")`, `{ status: 200 }`),
		{"every client is told on a page", "routes/told.go", ` || !strings.Contains(strings.Join(c.Request().Header.Values("Accept"), ","), "text/html")`, ` || strings.Contains("", "x")`, "TestBrowsersAreTold", []string{"./routes"}},
		{"a page is told of whatever was refused", "routes/told.go", "!slices.Contains(on.kinds, kind)", "on.path == \"\" || slices.Contains(on.kinds[:0], kind)", "TestBrowsersAreTold", []string{"./routes"}},
		{"strangers are not limited by address", "auth/stack.go", "		g.onRow(row, SessionCallers, limits.SessionAddress),\n", "", "TestSessionsAndStrangers", []string{"./tests"}},
	}
}
