package config_test

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stenometer/stenometer/config"
)

// written is a storage as a URI that means it.
func written(s config.LimitsStorage) string {
	if s.Kind == config.LimitsInMemory || s.Kind == config.LimitsInDatabase {
		return string(s.Kind) + "://"
	}
	user := ""
	if s.Password.IsSet() {
		user = encoded(s.Username) + ":" + encoded(s.Password.Reveal()) + "@"
	}
	if s.Socket != "" {
		return "unix://" + user + strings.ReplaceAll(encoded(s.Socket), "%2F", "/") + "?db=" + strconv.Itoa(s.Database)
	}
	options := url.Values{}
	for name, value := range map[string]string{
		"ca": s.CAFile, "sentinel_username": s.SentinelUsername, "sentinel_password": s.SentinelPassword.Reveal(),
	} {
		if value != "" {
			options.Set(name, value)
		}
	}
	scheme, path := "redis", "/"+strconv.Itoa(s.Database)
	if s.TLS {
		scheme = "rediss"
	}
	switch s.Kind {
	case config.LimitsInSentinel:
		scheme, path = scheme+"+sentinel", "/"+s.Master+path
	case config.LimitsInCluster:
		scheme, path = scheme+"+cluster", ""
	default:
	}
	uri := scheme + "://" + user + strings.Join(s.Addresses, ",") + path
	if len(options) > 0 {
		uri += "?" + strings.ReplaceAll(options.Encode(), "+", "%20")
	}
	return uri
}

// encoded writes every byte that could mean something in a URI as a percent sign and two digits.
func encoded(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// told is a storage in one line, passwords included.
func told(s config.LimitsStorage) string {
	words := []string{string(s.Kind)}
	if s.TLS {
		words = append(words, "TLS")
	}
	words = append(words, s.Addresses...)
	for _, word := range []string{
		s.Socket, s.Master, s.Username, s.Password.Reveal(), s.SentinelUsername, s.SentinelPassword.Reveal(), s.CAFile,
	} {
		if word != "" {
			words = append(words, word)
		}
	}
	if s.Database != 0 {
		words = append(words, "number", strconv.Itoa(s.Database))
	}
	return strings.Join(words, " ")
}

func TestLimitsStorageIsReadFromItsURI(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]string{
		"memory://":                                   "memory",
		"database://":                                 "database",
		"redis://localhost":                           "redis localhost:6379",
		"redis://localhost/":                          "redis localhost:6379",
		"REDIS://localhost:7/3":                       "redis localhost:7 number 3",
		"redis://redis_1.internal:6380":               "redis redis_1.internal:6380",
		"redis://[2001:db8::1]":                       "redis [2001:db8::1]:6379",
		"redis://[::1]:6380/1023":                     "redis [::1]:6380 number 1023",
		"redis://:p%40ss%2Fw%3Frd@localhost":          "redis localhost:6379 p@ss/w?rd",
		"redis://notes:a:b@c@localhost":               "redis localhost:6379 notes a:b@c",
		"rediss://localhost":                          "redis TLS localhost:6379",
		"rediss://u:p@localhost/1?ca=/etc/ca%20x.pem": "redis TLS localhost:6379 u p /etc/ca x.pem number 1",
		"valkey://localhost":                          "redis localhost:6379",
		"valkeys://localhost?ca=/ca.pem":              "redis TLS localhost:6379 /ca.pem",
		"unix:///run/redis/redis.sock":                "redis /run/redis/redis.sock",
		"unix://:p@/run/redis.sock?db=2":              "redis /run/redis.sock p number 2",
		"redis+unix:///run/a%20b.sock":                "redis /run/a b.sock",
		"valkey+unix://u:p@/run/valkey.sock":          "redis /run/valkey.sock u p",
		"redis+sentinel://a:1,b,[::1]:3/my-master":    "sentinel a:1 b:26379 [::1]:3 my-master",
		"redis+sentinel://:p@a/m.1/2":                 "sentinel a:26379 m.1 p number 2",
		"valkey+sentinel://u:p@a/m/?sentinel_username=s&sentinel_password=a+b%26": "sentinel a:26379 m u p s a+b&",
		"rediss+sentinel://a/m?ca=/ca.pem&sentinel_password=x":                    "sentinel TLS a:26379 m x /ca.pem",
		"redis+cluster://a:7000,b:7001":                                           "cluster a:7000 b:7001",
		"valkey+cluster://:p@a/0":                                                 "cluster a:6379 p",
		"rediss+cluster://u:p@a,b/?ca=/ca.pem":                                    "cluster TLS a:6379 b:6379 u p /ca.pem",
		"valkeys+cluster://a":                                                     "cluster TLS a:6379",
	} {
		storage, err := config.ParseLimitsStorage(uri)
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		if got := told(storage); got != want {
			t.Errorf("%s is read as\n%s, want\n%s", uri, got, want)
		}
		if again, err := config.ParseLimitsStorage(written(storage)); err != nil || told(again) != want {
			t.Errorf("%s, written as %s, is read as %s, %v", uri, written(storage), told(again), err)
		}
	}
}

// Whatever is wrong with a URI, the error says how it must look, and nothing of how it does.
func TestWrongLimitsStorageIsRefusedWithoutBeingShown(t *testing.T) {
	t.Parallel()
	for reason, uris := range wrongLimitsStorages() {
		for _, uri := range uris {
			storage, err := config.ParseLimitsStorage(uri)
			if err == nil {
				t.Errorf("%q is taken as %s", uri, told(storage))
				continue
			}
			if !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q: %v\nshould say: %s", uri, err, reason)
			}
			if scheme, _, _ := strings.Cut(uri, "://"); !strings.Contains(err.Error(), "must be "+scheme+"://") && !strings.HasPrefix(err.Error(), "must be memory://") {
				t.Errorf("%q: %v\ndoes not say how it must look", uri, err)
			}
		}
	}
}

// wrongLimitsStorages are URIs by what is wrong with them.
func wrongLimitsStorages() map[string][]string {
	return map[string][]string{
		"must be memory://, database://, redis://": {
			"", "hunter2", "memory", "memory:", "memory:///", "memory://hunter2", "database://hunter2", "http://hunter2",
			"redis+socket:///hunter2", "async+redis://hunter2", "redis:hunter2", "://hunter2",
		},
		"has a space, a control character or a #": {"redis://hunter2 x@a", "redis://a#hunter2", "redis://:hunter2#x@a", "redis://a\nhunter2"},
		"has no password before the @":            {"redis://hunter2@a", "redis://@a", "redis://:@a", "redis://hunter2:@a", "unix://hunter2@/x"},
		"has a percent sign in the user":          {"redis://:hunter2%zz@a", "redis://hunter2%:x@a"},
		"has a host or a port that cannot be one": {
			"redis://", "redis:///1", "redis://:6379", "redis://:hunter2/x@a", "redis://a:0", "redis://a:65536", "redis://a:-1", "redis://a:",
			"redis://a:hunter2", "redis://hunter2!", "redis://[::1", "redis://[127.0.0.1]", "redis://[fe80::1%25eth0]", "redis://[::1]6379",
			"redis://::1", "redis+cluster://a,", "redis+cluster://,a", "redis+sentinel:///m", "redis+sentinel://a,,b/m", "redis://hünter2",
		},
		"has a database that is no number": {"redis://a/hunter2", "redis://a/1024", "redis://a/-1", "redis://a/+1", "redis://a/1/", "redis://hunter2:6379/x@a", "unix:///x?db=hunter2", "redis+sentinel://a/m/x"},
		"names several servers":            {"redis://a,b", "valkeys://a:1,b:2/1"},
		"has options":                      {"redis://a?", "redis://a?db=1", "redis://a?ca=/x", "redis://:hunter2?x@a", "redis+cluster://a?hunter2"},
		"has an option that there is not, or one twice (a ? in a password must be percent-encoded); there are: ca": {
			"rediss://a?hunter2=x", "rediss://a?ca=", "rediss://a?ca", "rediss://a?ca=/a&ca=/b", "rediss://a?ca=%zz", "valkeys+cluster://a?ca=/x&",
		},
		"there are: db": {"unix:///x?ca=/y", "unix:///x?db=1&db=2"},
		"there are: sentinel_username, sentinel_password;":    {"redis+sentinel://a/m?ca=/x", "redis+sentinel://a/m?password=hunter2"},
		"there are: sentinel_username, sentinel_password, ca": {"rediss+sentinel://a/m?password=hunter2"},
		"has a sentinel_username without":                     {"redis+sentinel://a/m?sentinel_username=hunter2"},
		"has a ca that is not an absolute path":               {"rediss://a?ca=hunter2"},
		"names no socket":                                     {"unix://", "unix:///", "unix://hunter2", "unix://hunter2/x", "unix://u:p@", "unix:///x/", "unix:///%zz", "unix:///a%00b"},
		"has a path of more than 107 bytes":                   {"unix:///" + strings.Repeat("x", 107)},
		"names no master":                                     {"redis+sentinel://a", "redis+sentinel://a/", "redis+sentinel://a//1", "redis+sentinel://hunter2:1/x@a:1/m", "redis+sentinel://a/m%20"},
		"asks for a database":                                 {"redis+cluster://a/1"},
	}
}

// wrongOf are the errors that there are of a scheme. One that is not among them would be made of the URI.
func wrongOf(scheme string) map[string]bool {
	errors := map[string]bool{}
	for _, uris := range wrongLimitsStorages() {
		for _, uri := range uris {
			_, rest, _ := strings.Cut(uri, "://")
			if _, err := config.ParseLimitsStorage(scheme + "://" + rest); err != nil {
				errors[err.Error()] = true
			}
		}
	}
	return errors
}

func FuzzParseLimitsStorage(f *testing.F) {
	for _, uri := range []string{
		"memory://", "database://", "redis://u:p@a:1/2", "rediss://[::1]:7?ca=/x", "unix://:p@/x?db=1", "valkey+sentinel://a,b:2/m/1?sentinel_password=p",
		"redis+cluster://a,b", "redis://:%00@a", "redis://%zz",
	} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		storage, err := config.ParseLimitsStorage(uri)
		if err != nil {
			if scheme, _, found := strings.Cut(uri, "://"); found && !wrongOf(scheme)[err.Error()] {
				t.Errorf("%q has an error of its own: %v", uri, err)
			}
			return
		}
		again, err := config.ParseLimitsStorage(written(storage))
		if err != nil || told(again) != told(storage) {
			t.Errorf("%q is %s; written as %q it is %s, %v", uri, told(storage), written(storage), told(again), err)
		}
		for _, address := range storage.Addresses {
			if host, port, found := strings.Cut(address[strings.LastIndexByte(address, ']')+1:], ":"); !found || port == "" || (host == "" && address[0] != '[') {
				t.Errorf("%q names the server %q", uri, address)
			}
		}
		if storage.Kind == config.LimitsInSentinel && storage.Master == "" || slices.Contains(storage.Addresses, "") {
			t.Errorf("%q is incomplete: %s", uri, told(storage))
		}
	})
}
