package admin_test

import (
	"strings"
	"testing"
)

// Rule: organizations are made and listed by the instance's administrators alone; each is seen and changed by its own.
func TestOrganizations(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, method := range []string{"GET", "POST"} {
		s.want(s.ada, method, "/organizations", "", 403, "insufficient_permission")
	}
	made := s.want(s.ann, "POST", "/organizations", `{"slug":"north","name":" North ","time_zone":"Europe/Vienna"}`, 201, "")
	if made["name"] != "North" || made["time_zone"] != "Europe/Vienna" || made["members"] != 0.0 {
		t.Errorf("made is %v", made)
	}
	s.want(s.ann, "POST", "/organizations", `{"slug":"north","name":"Again"}`, 409, "conflict")
	for wrong, named := range map[string]string{
		`{"name":"A"}`: "slug", `{"slug":"a"}`: "name", `{"slug":"A","name":"A"}`: "slug", `{"slug":"-a","name":"A"}`: "slug",
		`{"slug":"a","name":" "}`: "name", `{"slug":"a","name":"a\u0000b"}`: "name", `{"slug":"a","name":"A","time_zone":"Local"}`: "time_zone",
		`{"slug":"a","name":"A","time_zone":"../etc/passwd"}`: "time_zone", `{"slug":"a","name":"A","owner":1}`: "owner",
		`{"slug":"` + strings.Repeat("a", 64) + `","name":"A"}`: "slug", `{"slug":"a","name":"` + strings.Repeat("a", 201) + `"}`: "name",
	} {
		body := s.want(s.ann, "POST", "/organizations", wrong, 400, "invalid_parameter")
		if sentence, _ := body["error"].(string); !strings.Contains(sentence, named) {
			t.Errorf("%.60s: the error %q does not name %s", wrong, sentence, named)
		}
	}
	if got := column(s.want(s.ann, "GET", "/organizations?per_page=2&page=2", "", 200, ""), "organizations", "slug"); got != "north" {
		t.Errorf("the second page is %q", got)
	}
	if got := column(s.want(s.ann, "GET", "/organizations", "", 200, ""), "organizations", "members"); got != "3 2 0" {
		t.Errorf("the members are %q", got)
	}
	own := at("/organizations/%d", s.second.ID)
	if body := s.want(s.eve, "PATCH", own, `{"name":"South","time_zone":"Asia/Tokyo"}`, 200, ""); body["name"] != "South" || body["time_zone"] != "Asia/Tokyo" || body["slug"] != "second" {
		t.Errorf("it became %v", body)
	}
	for _, wrong := range []string{`{}`, `{"slug":"x"}`, `{"time_zone":""}`, `{"name":""}`} {
		s.want(s.eve, "PATCH", own, wrong, 400, "invalid_parameter")
	}
	s.want(s.ann, "PATCH", own, `{"name":"Once more"}`, 200, "")
	if body := s.want(s.eve, "GET", own, "", 200, ""); body["name"] != "Once more" {
		t.Errorf("it is %v", body)
	}
}

// Rule: another organization does not exist, on any row.
func TestAnotherOrganizationDoesNotExist(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, row := range []struct{ method, path, body string }{
		{"GET", "", ""},
		{"PATCH", "", `{"name":"Mine"}`},
		{"GET", "/limits", ""},
		{"PUT", "/limits", `{"limits":{"organization_ai":"1 per minute"}}`},
		{"GET", "/budget", ""},
		{"PUT", "/budget", `{"monthly_usd":1}`},
		{"GET", "/usage", ""},
	} {
		for _, id := range []any{s.second.ID, 99_999, 0, "second"} {
			s.want(s.ada, row.method, at("/organizations/%v", id)+row.path, row.body, 404, "not_found")
		}
		s.want(s.ann, row.method, at("/organizations/%d", 99_999)+row.path, row.body, 404, "not_found")
		s.want(s.ann, row.method, at("/organizations/%d", s.second.ID)+row.path, row.body, 200, "")
	}
}

// Rule: limits of one organization or account are set by name, all or nothing, hold at once, and go back to what is
// configured; an organization's administrators take away and never give more than that.
func TestLimitsAreSet(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, row := range []struct{ path, name, foreign string }{
		{at("/users/%d/limits", s.bob.ID), "account_read", "organization_ai"}, {at("/organizations/%d/limits", s.first.ID), "organization_ai", "account_read"},
	} {
		stands := func(own any, inForce string) {
			t.Helper()
			for _, one := range s.want(s.ada, "GET", row.path, "", 200, "")["limits"].([]any) {
				if limit := one.(map[string]any); limit["name"] == row.name {
					if limit["own"] != own || limit["in_force"] != inForce || limit["configured"] != "1000 per minute" {
						t.Errorf("%s is %v, want %v", row.name, limit, own)
					}
					return
				}
			}
			t.Errorf("%s does not list %s", row.path, row.name)
		}
		set := func(figure string) string { return `{"limits":{"` + row.name + `":` + figure + `}}` }
		stands(nil, "1000 per minute")
		s.want(s.ada, "PUT", row.path, set(`"10 per minute"`), 200, "")
		stands("10 per minute", "10 per minute")
		s.want(s.ada, "PUT", row.path, set(`"20 per minute;100 per day"`), 200, "")
		for _, more := range []string{`"1001 per minute"`, `"0"`, `"500 per hour"`} {
			s.want(s.ada, "PUT", row.path, set(more), 403, "insufficient_permission")
		}
		for _, wrong := range []string{
			`{}`, `{"limits":{}}`, `{"limits":{"` + row.foreign + `":"1 per minute"}}`, `{"limits":{"nothing":null}}`, set(`"many"`), set(`5`), set(`null`) + `x`,
			`{"limits":{"` + row.name + `":"1 per minute","` + row.foreign + `":null}}`, `{"limits":{},"more":1}`,
		} {
			if status, body := s.call(s.as(s.ada), "PUT", row.path, wrong); status != 400 {
				t.Errorf("%s is answered %d: %v", wrong, status, body)
			}
		}
		stands("20 per minute;100 per day", "20 per minute;100 per day")
		s.want(s.ann, "PUT", row.path, set(`"2000 per minute"`), 200, "")
		stands("2000 per minute", "2000 per minute")
		s.want(s.ada, "PUT", row.path, set(`null`), 200, "")
		stands(nil, "1000 per minute")
	}
	s.want(s.ada, "PUT", at("/users/%d/limits", s.ada.ID), `{"limits":{"account_write":"3 per minute"}}`, 200, "")
	s.want(s.ada, "GET", "/users", "", 429, "account_rate_limit_exceeded") // more than three were made already
}
