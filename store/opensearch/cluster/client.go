package cluster

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.org/conclave/search/turn"
)

// Access is how a client authorises its requests, and which certificates it trusts.
type Access struct {
	CA       string // file of certificates to trust; "": those of the system
	User     string
	Password string
	APIKey   string // in the place of a user
}

// MaxAnswer bounds the bytes of an answer that are read.
const MaxAnswer = 512 << 20

// Client sends requests to the nodes of a cluster in turn. It is safe for concurrent use.
type Client struct {
	// FirstPause is how long a request waits before it is sent again for the first time. Set it before the client is
	// used.
	FirstPause time.Duration
	// LeastCountsWait is the least that CountsWithin returns. Set it before the client is used.
	LeastCountsWait time.Duration

	nodes         []*node
	http          *http.Client
	authorization string
	user          *url.Userinfo
	trusts        string            // whose certificates, for people
	secrets       *strings.Replacer // leaves the secrets out of a text
	observe       func(Exchange)
	next          atomic.Uint64
	changed       atomic.Int64 // changes of passages that were made or became visible

	// of _msearch, of _mget, of _termvectors, and of what else changes nothing
	searched, read, counted, other durations

	looks   durations // of questions without work (look)
	looking sync.Mutex
	looked  time.Time
}

// NewClient returns a client of the nodes, without connecting to one. It fails without nodes, if the certificates of
// a cannot be read, or if a has a user without a password, a password without a user, or a user and an API key.
func NewClient(nodes []*url.URL, a Access) (*Client, error) {
	if len(nodes) == 0 {
		return nil, errors.New("the address of the cluster has no node")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	transport.DialContext = (&net.Dialer{Timeout: Opening}).DialContext
	if a.CA != "" {
		pem, err := os.ReadFile(a.CA)
		if err != nil {
			return nil, fmt.Errorf("reading the certificates to trust: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate in PEM", a.CA)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	c := &Client{
		FirstPause:      firstPause,
		LeastCountsWait: time.Second,
		trusts:          cmp.Or(a.CA, "the system's certificates"),
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // credentials go to no other host
		}},
	}
	for _, u := range nodes {
		c.nodes = append(c.nodes, &node{url: u})
	}
	switch {
	case a.APIKey != "" && a.User != "":
		return nil, errors.New("a cluster is accessed with a user or with an API key, not with both")
	case (a.User == "") != (a.Password == ""):
		has := fmt.Sprintf("a user, %q,", a.User)
		lacks := "password"
		if a.User == "" {
			has, lacks = "a password", "user"
		}
		return nil, fmt.Errorf("%s for the cluster has no %s beside it", has, lacks)
	case a.APIKey != "":
		c.authorization = "ApiKey " + a.APIKey
	case a.User != "":
		c.user = url.UserPassword(a.User, a.Password)
	}
	c.secrets = strings.NewReplacer()
	if secret := a.Password + a.APIKey; secret != "" {
		c.secrets = strings.NewReplacer(secret, "…", base64.StdEncoding.EncodeToString([]byte(a.User+":"+secret)), "…")
	}
	return c, nil
}

// NoteChange notes that passages of the cluster were changed, or that changes became visible.
func (c *Client) NoteChange() { c.changed.Add(1) }

// Changes returns how often NoteChange was called.
func (c *Client) Changes() int64 { return c.changed.Load() }

// SearchTime returns the time within which 95 of 100 searches were answered lately.
func (c *Client) SearchTime() time.Duration { return c.searched.hedge() }

// CountsWithin returns how long to wait for the counts of all shards once some have come: four times the time within
// which 95 of 100 counts were answered lately, at least LeastCountsWait, which is a second unless it was set.
func (c *Client) CountsWithin() time.Duration {
	return max(c.LeastCountsWait, 4*c.counted.hedge())
}

// Observe sets a function that is called after each request to a node, by several goroutines at the same time. It has
// to be set before the client is used by several.
func (c *Client) Observe(f func(Exchange)) { c.observe = f }

// StatusError is the error of an answer whose status is not 2xx.
type StatusError struct {
	Status int
	Body   string // the beginning
}

// Error has the status and the reason of the answer.
func (e *StatusError) Error() string {
	why := cmp.Or(Reason([]byte(e.Body)), http.StatusText(e.Status))
	return fmt.Sprintf("the cluster answers with status %d: %.600s", e.Status, why)
}

// IsStatus reports whether err is, or wraps, a *StatusError with a status.
func IsStatus(err error, status int) bool {
	var s *StatusError
	return errors.As(err, &s) && s.Status == status
}

// Do sends a request and returns the body of the answer. path begins with a slash and may have a query. A request
// that changes nothing (_msearch, _mget, _termvectors, GET) may go to several nodes (hedged). Any other goes to the
// next node if no connection to one can be made, since then nothing was sent. A status other than 2xx is a
// *StatusError; after any other error it is unknown what the cluster did.
func (c *Client) Do(ctx context.Context, method, path string, body []byte) (answer []byte, err error) {
	operation := operationOf(path)
	if operation == "msearch" || operation == "mget" || operation == "termvectors" || method == http.MethodGet {
		err = turn.Elsewhere(ctx, func() (err error) {
			answer, err = c.hedged(ctx, operation, method, path, body)
			return err
		})
		return answer, err
	}
	for _, n := range c.order() {
		answer, err = c.attended(ctx, n, operation, method, path, body)
		var dial *net.OpError
		if !errors.As(err, &dial) || dial.Op != "dial" || ctx.Err() != nil {
			break
		}
	}
	return answer, err
}

// ask sends a request to one node, with the client's credentials, and returns the body of the answer. A status other
// than 2xx is a *StatusError, from whose text the secrets are left out. It fails if the answer has more than
// MaxAnswer bytes.
func (c *Client) ask(ctx context.Context, n *node, method, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, n.url.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
		if last := path[strings.LastIndexByte(path, '/')+1:]; strings.HasPrefix(last, "_bulk") ||
			strings.HasPrefix(last, "_msearch") {
			r.Header.Set("Content-Type", "application/x-ndjson")
		}
	}
	if c.authorization != "" {
		r.Header.Set("Authorization", c.authorization)
	}
	if password, ok := c.user.Password(); ok {
		r.SetBasicAuth(c.user.Username(), password)
	}
	a, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = a.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(a.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(answer) > MaxAnswer:
		return nil, fmt.Errorf("the answer of %s has more than %d bytes", n.url.Host, MaxAnswer)
	case a.StatusCode/100 != 2:
		return nil, &StatusError{a.StatusCode, c.secrets.Replace(strings.TrimSpace(string(answer[:min(len(answer), 4096)])))}
	}
	return answer, nil
}
