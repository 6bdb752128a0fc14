package sites

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// TestRebinding: a name that leads to an allowed address at first, and to this machine later, is not asked there: each
// connection is checked by the address that it goes to.
func TestRebinding(t *testing.T) {
	var now atomic.Pointer[netip.Addr]
	point := func(to string) {
		a := netip.MustParseAddr(to)
		now.Store(&a)
	}
	dns, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dns.Close() })
	go answerNames(dns, &now)
	served := 0
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
	site.Listener, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site.Start()
	t.Cleanup(site.Close)
	_, port, err := net.SplitHostPort(site.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", dns.LocalAddr().String())
	}}
	ask := func(allowed string) error {
		r := Reach{AnyHost: true, Networks: []netip.Prefix{netip.MustParsePrefix(allowed)}, resolver: resolver}
		client := &http.Client{Transport: r.transport(1, 10*time.Second)}
		defer client.CloseIdleConnections()
		response, err := client.Get("http://rebind.example.:" + port + "/")
		if err == nil {
			err = response.Body.Close()
		}
		return err
	}
	point("127.0.0.1")
	if err := ask("127.0.0.1/32"); err != nil || served != 1 {
		t.Fatalf("an allowed address: %v, asked %d times", err, served)
	}
	for _, to := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1"} {
		point(to)
		var refused *NetworkError
		if err := ask("192.168.7.0/24"); !errors.As(err, &refused) || refused.Address.String() != to || served != 1 {
			t.Errorf("%s: %v, asked %d times", to, err, served)
		}
	}
}

// answerNames answers every question for an address of IPv4 with the present one, and all others with none, until the
// connection is closed.
func answerNames(dns net.PacketConn, now *atomic.Pointer[netip.Addr]) {
	buffer := make([]byte, 1500)
	for {
		n, from, err := dns.ReadFrom(buffer)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buffer[:n]) != nil || len(m.Questions) == 0 {
			continue
		}
		q := m.Questions[0]
		answer := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true},
			Questions: m.Questions[:1],
		}
		if q.Type == dnsmessage.TypeA {
			answer.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: now.Load().As4()},
			}}
		}
		if packed, err := answer.Pack(); err == nil {
			_, _ = dns.WriteTo(packed, from)
		}
	}
}
