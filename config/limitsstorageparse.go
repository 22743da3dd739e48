package config

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// highestRedisDatabase bounds the number behind the slash; a server has 16 unless told otherwise.
	highestRedisDatabase = 1023
	// longestSocketPath is what the kernel takes.
	longestSocketPath = 107
)

// What follows the "://" of each kind, as errors say it.
const (
	serverLooks   = "[user:password@]host[:port][/number]"
	socketLooks   = "[user:password@]/path[?db=number]"
	sentinelLooks = "[user:password@]host[:port],host[:port]/master-name[/number]"
	clusterLooks  = "[user:password@]host[:port],host[:port]"
)

// limitsAllowed is what the user guide says of RATELIMIT_STORAGE_URI.
const limitsAllowed = "memory://, database://, redis://" + serverLooks + ", unix://" + socketLooks +
	", redis+sentinel://" + sentinelLooks + " or redis+cluster://" + clusterLooks + "; rediss for TLS, valkey like redis"

// limitsForm is how the URIs of one scheme look.
type limitsForm struct {
	kind  LimitsStorageKind
	looks string
	// port is meant where an address names none; "" for a socket.
	port string
	// options may stand behind the question mark; those of TLS come on top.
	options []string
}

var (
	serverForm   = limitsForm{LimitsInRedis, serverLooks, "6379", nil}
	socketForm   = limitsForm{LimitsInRedis, socketLooks, "", []string{"db"}}
	sentinelForm = limitsForm{LimitsInSentinel, sentinelLooks, "26379", []string{"sentinel_username", "sentinel_password"}}
	clusterForm  = limitsForm{LimitsInCluster, clusterLooks, "6379", nil}
)

// limitsForms are the schemes that something follows. Those with TLS have one letter more.
var limitsForms = map[string]limitsForm{
	"redis": serverForm, "valkey": serverForm,
	"rediss": serverForm, "valkeys": serverForm,
	"unix": socketForm, "redis+unix": socketForm, "valkey+unix": socketForm,
	"redis+sentinel": sentinelForm, "valkey+sentinel": sentinelForm,
	"rediss+sentinel": sentinelForm, "valkeys+sentinel": sentinelForm,
	"redis+cluster": clusterForm, "valkey+cluster": clusterForm,
	"rediss+cluster": clusterForm, "valkeys+cluster": clusterForm,
}

// ParseLimitsStorage takes a RATELIMIT_STORAGE_URI apart. Its errors say what is allowed and show nothing of the URI
// but the scheme: anything else may be a password, or a part of one that was not percent-encoded.
func ParseLimitsStorage(uri string) (LimitsStorage, error) {
	scheme, rest, found := strings.Cut(uri, "://")
	scheme = strings.ToLower(scheme)
	if found && rest == "" && (scheme == "memory" || scheme == "database") {
		return LimitsStorage{Kind: LimitsStorageKind(scheme)}, nil
	}
	form, known := limitsForms[scheme]
	if !found || !known {
		return LimitsStorage{}, errors.New("must be " + limitsAllowed)
	}
	brand, _, _ := strings.Cut(scheme, "+")
	storage := LimitsStorage{Kind: form.kind, TLS: brand == "rediss" || brand == "valkeys"}
	if err := form.parse(rest, &storage); err != nil {
		return LimitsStorage{}, errors.New(err.Error() + "; must be " + scheme + "://" + form.looks)
	}
	return storage, nil
}

func (f limitsForm) parse(rest string, storage *LimitsStorage) error {
	if strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r == 0x7f }) || strings.Contains(rest, "#") {
		return errors.New("has a space, a control character or a #, which must be percent-encoded")
	}
	rest, query, asked := strings.Cut(rest, "?")
	if asked {
		if err := f.parseOptions(query, storage); err != nil {
			return err
		}
	}
	authority, path, slash := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		var err error
		if storage.Username, storage.Password, err = parseUser(authority[:at]); err != nil {
			return err
		}
		authority = authority[at+1:]
	}
	if f.port == "" {
		return parseSocket(authority, path, storage)
	}
	for address := range strings.SplitSeq(authority, ",") {
		hostPort, err := f.parseServer(address)
		if err != nil {
			return err
		}
		storage.Addresses = append(storage.Addresses, hostPort)
	}
	if f.kind == LimitsInRedis && len(storage.Addresses) > 1 {
		return errors.New("names several servers, which takes a scheme with +sentinel or +cluster")
	}
	return f.parsePath(path, slash, storage)
}

// parseUser reads what stands before the @. One of both is what somebody means who forgot a colon, and would connect
// without a password.
func parseUser(text string) (string, Secret, error) {
	name, password, found := strings.Cut(text, ":")
	user, err1 := url.PathUnescape(name)
	word, err2 := url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return "", Secret{}, errors.New("has a percent sign in the user or password that is not an encoded character")
	}
	if !found || word == "" {
		return "", Secret{}, errors.New("has no password before the @; a password alone is written :password@")
	}
	return user, NewSecret(word), nil
}

func parseSocket(authority, path string, storage *LimitsStorage) error {
	path, err := url.PathUnescape(path)
	if authority != "" || err != nil || path == "" || strings.HasSuffix(path, "/") || strings.ContainsRune(path, 0) {
		return errors.New("names no socket by an absolute path")
	}
	storage.Socket = "/" + path
	if len(storage.Socket) > longestSocketPath {
		return errors.New("has a path of more than 107 bytes, which no socket can have")
	}
	return nil
}

// parseServer reads host, host:port, [IPv6] or [IPv6]:port.
func (f limitsForm) parseServer(text string) (string, error) {
	wrong := errors.New("has a host or a port that cannot be one; special characters of a password must be percent-encoded")
	host, after, named := strings.Cut(text, ":")
	if inside, bracket := strings.CutPrefix(text, "["); bracket {
		var closed bool
		if host, after, closed = strings.Cut(inside, "]"); !closed {
			return "", wrong
		}
		if address, err := netip.ParseAddr(host); err != nil || !address.Is6() || address.Zone() != "" {
			return "", wrong
		}
		if after, named = strings.CutPrefix(after, ":"); !named && after != "" {
			return "", wrong
		}
	} else if host == "" || len(host) > 253 || strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
		return "", wrong
	}
	if !named {
		return net.JoinHostPort(host, f.port), nil
	}
	port, err := strconv.ParseUint(after, 10, 16)
	if err != nil || port == 0 {
		return "", wrong
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10)), nil
}

// parsePath reads what follows the servers: a number, a master with or without one, or nothing.
func (f limitsForm) parsePath(path string, slash bool, storage *LimitsStorage) error {
	if f.kind == LimitsInSentinel {
		name, number, _ := strings.Cut(path, "/")
		// These are the characters that Sentinel allows.
		if name == "" || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
			return errors.New("names no master that the Sentinels can know")
		}
		storage.Master, path, slash = name, number, number != ""
	}
	if !slash || path == "" {
		return nil
	}
	number, err := parseDatabaseNumber(path)
	if err != nil {
		return err
	}
	if f.kind == LimitsInCluster && number != 0 {
		return errors.New("asks for a database, and a cluster has only number 0")
	}
	storage.Database = number
	return nil
}

func parseDatabaseNumber(text string) (int, error) {
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number > highestRedisDatabase {
		return 0, errors.New("has a database that is no number from 0 to 1023")
	}
	return int(number), nil
}

// parseOptions reads what follows the question mark. A plus sign in it is one.
func (f limitsForm) parseOptions(query string, storage *LimitsStorage) error {
	allowed := f.options
	if storage.TLS {
		allowed = append(slices.Clone(allowed), "ca")
	}
	unknown := errors.New("has an option that there is not, or one twice (a ? in a password must be percent-encoded); there are: " + strings.Join(allowed, ", "))
	if len(allowed) == 0 {
		unknown = errors.New("has options (a ? in a password must be percent-encoded)")
	}
	var seen []string
	for pair := range strings.SplitSeq(query, "&") {
		name, encoded, _ := strings.Cut(pair, "=")
		value, err := url.PathUnescape(encoded)
		if err != nil || value == "" || !slices.Contains(allowed, name) || slices.Contains(seen, name) {
			return unknown
		}
		seen = append(seen, name)
		if err := storage.set(name, value); err != nil {
			return err
		}
	}
	if storage.SentinelUsername != "" && !storage.SentinelPassword.IsSet() {
		return errors.New("has a sentinel_username without sentinel_password")
	}
	return nil
}

func (s *LimitsStorage) set(option, value string) error {
	var err error
	switch option {
	case "db":
		s.Database, err = parseDatabaseNumber(value)
	case "ca":
		s.CAFile = value
		if !strings.HasPrefix(value, "/") {
			err = errors.New("has a ca that is not an absolute path")
		}
	case "sentinel_username":
		s.SentinelUsername = value
	case "sentinel_password":
		s.SentinelPassword = NewSecret(value)
	}
	return err
}
