package opensearch

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

// Access says how a client makes itself known to a cluster, and the cluster to it.
type Access struct {
	CA       string // file of certificates to trust; "": those of the system
	User     string
	Password string
	APIKey   string // in the place of a user
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 512 << 20

// Client sends requests to the nodes of a cluster, in turn. It is safe for concurrent use.
type Client struct {
	nodes         []*node
	http          *http.Client
	authorization string
	user          *url.Userinfo
	trusts        string            // whose certificates, for people
	secrets       *strings.Replacer // leaves the secrets out of a text
	observe       func(Exchange)
	next          atomic.Uint64
	changes       atomic.Int64 // of passages, that were made or became visible

	// of _msearch, of _mget, of _termvectors, and of what else changes nothing
	searched, read, counted, other durations

	looks   durations // of questions without work (look)
	looking sync.Mutex
	looked  time.Time
}

// NewClient makes a client of the nodes. It connects to none yet.
func NewClient(nodes []*url.URL, a Access) (*Client, error) {
	if len(nodes) == 0 {
		return nil, errors.New("a cluster has to have a node")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	transport.DialContext = (&net.Dialer{Timeout: opening}).DialContext
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
		trusts: cmp.Or(a.CA, "the system's certificates"),
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

// Observe has a function called after each request to a node, by several at the same time. It is to be set before
// the client is used by several.
func (c *Client) Observe(f func(Exchange)) { c.observe = f }

// StatusError is an answer with a status that is no success.
type StatusError struct {
	Status int
	Body   string // the beginning
}

func (e *StatusError) Error() string {
	why := cmp.Or(reason([]byte(e.Body)), http.StatusText(e.Status))
	return fmt.Sprintf("the cluster answers with status %d: %.600s", e.Status, why)
}

func isStatus(err error, status int) bool {
	var s *StatusError
	return errors.As(err, &s) && s.Status == status
}

// Do sends a request and gives the body of its answer. What changes nothing (_msearch,
// _mget, _termvectors, GET) is hedged. For anything else, where no connection to a node can be made,
// nothing was sent, and the next one is asked. Another status than 2xx is a *StatusError;
// with any other error it is unknown what the cluster did.
func (c *Client) Do(ctx context.Context, method, path string, body []byte) (answer []byte, err error) {
	what := operationOf(path)
	if what == "msearch" || what == "mget" || what == "termvectors" || method == http.MethodGet {
		err = turn.Elsewhere(ctx, func() (err error) {
			answer, err = c.hedged(ctx, what, method, path, body)
			return err
		})
		return answer, err
	}
	for _, n := range c.order() {
		answer, err = c.attended(ctx, n, what, method, path, body)
		var dial *net.OpError
		if !errors.As(err, &dial) || dial.Op != "dial" || ctx.Err() != nil {
			break
		}
	}
	return answer, err
}

// ask asks one node.
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
	answer, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("the answer of %s has more than %d bytes", n.url.Host, maxAnswer)
	case a.StatusCode/100 != 2:
		return nil, &StatusError{a.StatusCode, c.secrets.Replace(strings.TrimSpace(string(answer[:min(len(answer), 4096)])))}
	}
	return answer, nil
}
