package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Opening is how long the cluster has to answer the first requests: what its nodes are, and what an index is.
const Opening = 5 * time.Second

// leastVersion is the oldest supported version of OpenSearch, major and minor.
var leastVersion = [2]int{3, 5}

// UnreachableError is the error of a cluster of which no node answers.
type UnreachableError struct{ Nodes []NodeError }

// NodeError is the reason why one node does not answer.
type NodeError struct {
	Node string // its address
	Err  error
}

// Error names each node that was tried, with the reason why it did not answer.
func (e *UnreachableError) Error() string {
	reasons := make([]string, len(e.Nodes))
	for i, n := range e.Nodes {
		reasons[i] = n.Node + ": " + connectionReason(n.Err)
	}
	return "no node of the cluster answers: " + strings.Join(reasons, "; ")
}

// Unwrap returns the error of each node.
func (e *UnreachableError) Unwrap() (out []error) {
	for _, n := range e.Nodes {
		out = append(out, n.Err)
	}
	return out
}

// connectionReason returns the text of a connection's error for messages: without the address, and with a hint if there
// was no answer in time or the node may expect https.
func connectionReason(err error) string {
	if failed, ok := err.(*url.Error); ok {
		err = failed.Err
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer within %v", Opening)
	case errors.Is(err, io.EOF):
		return "it closes connections without an answer; perhaps it expects https"
	}
	return err.Error()
}

// Connect asks all nodes for their version, for the time Opening at most, and returns after the first answer; nil if
// it is that of OpenSearch of leastVersion or newer, or the user may not see the version. It returns an
// *UnreachableError if none answers, and an error if the cluster refuses the user or key, its certificate is not
// trusted, or its version is too old.
func (c *Client) Connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Opening)
	defer cancel()
	type outcome struct {
		at     int
		answer []byte
		err    error
	}
	outcomes := make(chan outcome, len(c.nodes))
	for i, n := range c.nodes {
		go func() {
			answer, err := c.exchange(ctx, n, "connect", http.MethodGet, "/", nil)
			outcomes <- outcome{i, answer, err}
		}()
	}
	failed := &UnreachableError{Nodes: make([]NodeError, len(c.nodes))}
	for range c.nodes {
		o := <-outcomes
		host := c.nodes[o.at].url.String()
		switch {
		case o.err == nil:
			if err := checkVersion(o.answer); err != nil {
				return fmt.Errorf("%s: %w", host, err)
			}
			return nil
		case IsStatus(o.err, http.StatusUnauthorized):
			return fmt.Errorf("%s does not accept %s: %w", host, c.Who(), o.err)
		case IsStatus(o.err, http.StatusForbidden):
			return nil // who may not see the version may still search
		}
		failed.Nodes[o.at] = NodeError{host, c.explainUntrusted(o.err)}
	}
	return failed
}

// explainUntrusted returns the error of a certificate that is not trusted with the certificate's subject and issuer,
// and which certificates are trusted; any other error as it is.
func (c *Client) explainUntrusted(err error) error {
	var failed *tls.CertificateVerificationError
	if !errors.As(err, &failed) || len(failed.UnverifiedCertificates) == 0 {
		return err
	}
	its := failed.UnverifiedCertificates[0]
	return fmt.Errorf(
		"its certificate of %q, issued by %q, is not trusted by %s: %w", its.Subject, its.Issuer, c.trusts, failed.Err,
	)
}

// Who returns words for the user or key that requests are made with, without a secret.
func (c *Client) Who() string {
	switch {
	case c.user != nil:
		return fmt.Sprintf("the user %q with this password", c.user.Username())
	case c.authorization != "":
		return "this API key"
	}
	return "requests without a user or an API key"
}

// checkVersion returns an error if the answer of a node is not that of an OpenSearch of leastVersion or newer.
func checkVersion(answer []byte) error {
	var is struct {
		Version struct {
			Distribution string `json:"distribution"`
			Number       string `json:"number"`
		} `json:"version"`
		Tagline string `json:"tagline"`
	}
	if err := json.Unmarshal(answer, &is); err != nil || is.Version.Number == "" {
		return fmt.Errorf("this is not OpenSearch: it answers %.80q", answer)
	}
	needed := fmt.Sprintf("OpenSearch %d.%d or newer is needed", leastVersion[0], leastVersion[1])
	switch {
	case is.Version.Distribution == "" && strings.Contains(is.Tagline, "for Search"):
		return fmt.Errorf("this is Elasticsearch %s, and %s", is.Version.Number, needed)
	case is.Version.Distribution != "opensearch":
		return fmt.Errorf("this is not OpenSearch but %q %s, and %s", is.Version.Distribution, is.Version.Number, needed)
	}
	major, rest, _ := strings.Cut(is.Version.Number, ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, err := strconv.Atoi(major)
	n, failed := strconv.Atoi(minor)
	if err != nil || failed != nil || m < leastVersion[0] || m == leastVersion[0] && n < leastVersion[1] {
		return fmt.Errorf("this is OpenSearch %s, and %s", is.Version.Number, needed)
	}
	return nil
}
