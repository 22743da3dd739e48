package outbound_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is a real one on loopback. A name has one list of addresses for each time that it is asked for, the last for
// all further ones; other names do not exist.
func nameServer(t testing.TB, names map[string][]string) *net.Resolver {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	asked := make(map[string]int)
	go func() {
		room := make([]byte, 1500)
		for {
			n, from, err := socket.ReadFrom(room)
			if err != nil {
				return
			}
			if answer := answerOf(room[:n], names, asked); answer != nil {
				_, _ = socket.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", socket.LocalAddr().String())
	}}
}

func answerOf(query []byte, names map[string][]string, asked map[string]int) []byte {
	var message dnsmessage.Message
	if message.Unpack(query) != nil || len(message.Questions) != 1 {
		return nil
	}
	question := message.Questions[0]
	lists, known := names[strings.ToLower(question.Name.String())]
	message.Response, message.RecursionAvailable, message.Additionals = true, true, nil
	if !known {
		message.RCode = dnsmessage.RCodeNameError
	} else {
		key := question.Name.String() + question.Type.String()
		list := lists[min(asked[key], len(lists)-1)]
		asked[key]++
		for _, text := range strings.Fields(list) {
			if resource, ok := resourceOf(question, text); ok {
				message.Answers = append(message.Answers, resource)
			}
		}
	}
	answer, err := message.Pack()
	if err != nil {
		return nil
	}
	return answer
}

func resourceOf(question dnsmessage.Question, text string) (dnsmessage.Resource, bool) {
	header := dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class}
	ip := net.ParseIP(text)
	switch six := strings.Contains(text, ":"); {
	case six && question.Type == dnsmessage.TypeAAAA:
		return dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: [16]byte(ip.To16())}}, true
	case !six && question.Type == dnsmessage.TypeA:
		return dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: [4]byte(ip.To4())}}, true
	}
	return dnsmessage.Resource{}, false
}
