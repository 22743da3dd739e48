package config

import (
	"errors"
	"log/slog"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// errAllowed is the fault of a value that Setting.Allowed describes well enough.
var errAllowed = errors.New("see what is allowed")

// parse fills one field from its variable, or from its default.
func (l *loader) parse(field reflect.Value, setting Setting) {
	text := l.values[setting.Name]
	if text == "" {
		text = setting.parsedDefault
	}
	if text == "" {
		return
	}
	err := setField(field, setting, text)
	if err == nil {
		return
	}
	allowed := "must be " + setting.Allowed
	if !errors.Is(err, errAllowed) {
		allowed = err.Error()
	}
	value := shown(text)
	switch field.Interface().(type) {
	case Secret:
		value = hidden
	case Location:
		value = NewLocation(text).String()
	}
	l.fault(setting.Name, value, allowed)
}

func setField(field reflect.Value, setting Setting, text string) (err error) {
	switch value := field.Addr().Interface().(type) {
	case *string:
		*value, err = parseText(setting.rule, text)
	case *Location:
		text, err = parseText(setting.rule, text)
		*value = NewLocation(text)
	case *Secret:
		text, err = parseText(setting.rule, text)
		*value = NewSecret(text)
	case *int:
		*value, err = parseInt(setting, text)
	case *bool:
		*value, err = parseBool(text)
	case *time.Duration:
		*value, err = parseDuration(setting, text)
	case *Rates:
		*value, err = ParseRates(text)
	case *OnStorageError:
		*value, err = ParseOnStorageError(text)
	case *Dollars:
		*value, err = ParseDollars(text)
	case *ChunkLimit:
		*value, err = ParseChunkLimit(text)
	case *RoleMap:
		*value, err = ParseRoleMap(text)
	case *Schedule:
		*value, err = ParseSchedule(text)
	case *HostPattern:
		*value, err = ParseHostPattern(text)
	case *[]netip.Prefix:
		*value, err = parseNetworks(text)
	case *[]string:
		*value, err = parseList(setting.rule, text)
	case *slog.Level:
		if text, err = parseText(setting.rule, strings.ToLower(text)); err == nil {
			err = value.UnmarshalText([]byte(text))
		}
	}
	return err
}

func parseList(rule, text string) ([]string, error) {
	if rule == "origins" {
		return parseOrigins(text)
	}
	return parseModels(text)
}

func parseInt(setting Setting, text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strings.HasPrefix(text, "+") || float64(n) < setting.least || float64(n) > setting.most {
		return 0, errAllowed
	}
	return int(n), nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, errAllowed
}

// parseDuration reads a number in the unit that ends the variable's name. Fractions are allowed, so that what takes
// hours in service can be shown in seconds.
func parseDuration(setting Setting, text string) (time.Duration, error) {
	if strings.Trim(text, "0123456789.") != "" {
		return 0, errAllowed
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < setting.least || n > setting.most {
		return 0, errAllowed
	}
	return time.Duration(n * float64(setting.unit)).Round(time.Microsecond), nil
}

func parseNetworks(text string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		network, err := netip.ParsePrefix(part)
		if err != nil {
			address, err := netip.ParseAddr(part)
			if err != nil || address.Zone() != "" {
				return nil, errors.New(shown(part) + " is not a network or an address such as 10.0.0.0/8 or 192.0.2.7")
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		if network.Addr().Is4In6() {
			if network.Bits() < 96 {
				return nil, errors.New(shown(part) + " mixes IPv4 and IPv6; write the IPv4 network")
			}
			network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
		}
		if network != network.Masked() {
			return nil, errors.New(shown(part) + " is an address inside a network; write " + network.Masked().String() + " or the address alone")
		}
		networks = append(networks, network)
	}
	if len(networks) == 0 {
		return nil, errAllowed
	}
	return networks, nil
}
