package sites

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Reach says which hosts and which network addresses may be asked. The zero value is none.
type Reach struct {
	// Hosts are names of hosts, such as docs.example.org, or *.example.org for all below it, with a port where it is
	// not that of the scheme.
	Hosts []string
	// AnyHost lets every host be asked.
	AnyHost bool
	// Networks are those that may be asked although they are not public, such as 10.0.0.0/8.
	Networks []netip.Prefix
	resolver *net.Resolver // of names; nil: the system's
}

// HostError says that a host is not one of Reach.Hosts.
type HostError struct{ Host string }

// Error names the host.
func (e *HostError) Error() string {
	return fmt.Sprintf("the host %s is not among those that may be read (documents.hosts)", e.Host)
}

// NetworkError says that a host is at an address that is not public, and not in Reach.Networks.
type NetworkError struct{ Address netip.Addr }

// Error names the address.
func (e *NetworkError) Error() string {
	return fmt.Sprintf("it is at %s, which is no public address: allow its network, if it is yours (documents.networks)", e.Address)
}

// CheckHost returns nil if AnyHost is set or the host of an address matches an entry of Hosts, and otherwise a
// *HostError: an empty Hosts allows no host. The address must be in the form that ParseAddress returns: its host in
// lower case, with a port only if that is not the scheme's.
func (r *Reach) CheckHost(u *url.URL) error {
	if r.AnyHost {
		return nil
	}
	for _, allowed := range r.Hosts {
		allowed = strings.ToLower(allowed)
		below, wild := strings.CutPrefix(allowed, "*.")
		if u.Host == allowed || wild && strings.HasSuffix(u.Host, "."+below) {
			return nil
		}
	}
	return &HostError{u.Host}
}

// transport returns what sends requests: to allowed addresses only, whatever a name resolves to, over connections to
// the host itself. The bounds are those of one request. The caller closes its idle connections.
func (r *Reach) transport(connections int, timeout time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: timeout, Control: r.checkConnection, Resolver: r.resolver}
	return &http.Transport{
		DialContext: dialer.DialContext, MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections,
		TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout, MaxResponseHeaderBytes: mostHeaderBytes,
		DisableCompression: true, // what is unpacked is bounded by fetch
	}
}

// mostHeaderBytes bounds the header of an answer.
const mostHeaderBytes = 64 << 10

// checkConnection is the Control of a net.Dialer: it is called with the address of each connection after names were
// resolved, before it is made, and returns a *NetworkError if the address may not be asked.
func (r *Reach) checkConnection(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return errors.New("is reached by " + network)
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	return r.checkAddress(at.Addr())
}

// checkAddress returns a *NetworkError unless an address is public or in Networks. One of IPv6 that carries one of IPv4
// counts as that one; if it leads there by a translation of the network, the translation has to be in Networks, too.
func (r *Reach) checkAddress(a netip.Addr) error {
	a = a.Unmap().WithZone("")
	if r.allows(a) {
		if inside, ok := translated(a); ok && !isPublic(inside) && !r.allows(inside) {
			return &NetworkError{inside}
		}
		return nil
	}
	if !isPublic(a) {
		return &NetworkError{a}
	}
	return nil
}

// allows reports whether an address is in Networks.
func (r *Reach) allows(a netip.Addr) bool {
	for _, network := range r.Networks {
		if network.Contains(a) {
			return true
		}
	}
	return false
}

// isPublic reports whether an address belongs to the internet at large: it is in no range that IANA has given another
// purpose, such as private networks, loopback, links, shared addresses of providers, documentation, multicast, and
// translation between the two protocols.
func isPublic(a netip.Addr) bool {
	if a.Is6() && !publicIPv6.Contains(a) {
		return false
	}
	for _, special := range specialNetworks {
		if special.Contains(a) {
			return false
		}
	}
	return true
}

// publicIPv6 has all addresses of IPv6 that are given out as global unicast.
var publicIPv6 = netip.MustParsePrefix("2000::/3")

// specialNetworks are the ranges of IPv4, and those of publicIPv6, in the registries of special purposes (RFC 6890).
var specialNetworks = parsePrefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

// parsePrefixes returns networks by their texts, and panics if one is invalid.
func parsePrefixes(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// nat64 is the prefix of addresses of IPv6 whose last four bytes are one of IPv4, to which the network translates.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// translated returns the address of IPv4 to which the network translates one of IPv6; ok is false if it does not.
func translated(a netip.Addr) (inside netip.Addr, ok bool) {
	if !a.Is6() || !nat64.Contains(a) {
		return inside, false
	}
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:])), true
}
