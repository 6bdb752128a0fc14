// Package front is what every request passes before its route: the Gate, which looks at host, origin, key and rate; the
// Admission, which gives it a place and memory or refuses it; and the Exchange, which is what is known about one
// request. What a route costs is stated as a Cost.
package front

import (
	"net/http"
	"net/netip"
	"time"

	"example.org/conclave/internal/overload"
)

// GateOptions say which requests a gate lets through.
type GateOptions struct {
	Keys           []Key    // the API keys; without any, everybody may call
	AllowedHosts   []string // names that Host may have while there are no keys; "*": any
	CORSOrigins    []string // the origins whose pages may call; "*": all
	ExposedHeaders []string // of answers, which pages of these origins may read
	BasePath       string   // the path under which callers reach the server, such as /conclave; "": none
	Proxies        []netip.Prefix
	RateRequests   int // of one key or address in a RateWindow; 0: any number
	RateWindow     time.Duration
	Now            func() time.Time
}

// Gate checks each request before its route does: host, origin, key, rate, and the base path.
type Gate struct {
	options     GateOptions
	crossOrigin *http.CrossOriginProtection
	connections *overload.Connections
}

// NewGate returns a gate that bounds the connections of each caller by `connections`. It sets the Pace of each of
// o.Keys, and fails if an origin is malformed.
func NewGate(o GateOptions, connections *overload.Connections) (*Gate, error) {
	crossOrigin, err := newCrossOrigin(o.CORSOrigins)
	if err != nil {
		return nil, err
	}
	for i := range o.Keys {
		o.Keys[i].Pace = &Pace{}
		o.Keys[i].Pace.Set(o.Keys[i].RequestsASecond)
	}
	return &Gate{o, crossOrigin, connections}, nil
}
