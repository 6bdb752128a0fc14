package cluster

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Address is where an index is.
type Address struct {
	Nodes []*url.URL // with scheme and host alone
	Index string
}

const addressScheme = "opensearch+"

// indexName is what an index may be called: the cluster's own rules, a little narrower.
var indexName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,199}$`)

// IsIndexName reports whether an index may be called so.
func IsIndexName(name string) bool { return indexName.MatchString(name) }

// ParseAddress reads opensearch+https://HOST:PORT,HOST:PORT/INDEX, or with http.
func ParseAddress(text string) (a Address, err error) {
	wrong := func(why string) (Address, error) {
		if strings.Contains(text, "@") {
			return a, errors.New("the address of the store has a user in it, who belongs beside it")
		}
		return a, fmt.Errorf("the store %q %s; it has the form opensearch+https://HOST:9200,HOST:9200/INDEX", text, why)
	}
	rest, ok := strings.CutPrefix(text, addressScheme)
	scheme, rest, split := strings.Cut(rest, "://")
	if !ok || !split || scheme != "https" && scheme != "http" {
		return wrong("begins with neither opensearch+https:// nor opensearch+http://")
	}
	hosts, index, _ := strings.Cut(rest, "/")
	if index == "" {
		return wrong("names no index after its hosts")
	}
	if !IsIndexName(index) {
		return wrong(
			fmt.Sprintf(
				"names the index %q, and the name of one has lower-case letters, digits, _, . and - alone and begins with a letter or digit",
				index,
			),
		)
	}
	for host := range strings.SplitSeq(hosts, ",") {
		u, err := url.Parse(scheme + "://" + host)
		if err != nil || u.Host != host || u.Hostname() == "" {
			return wrong(fmt.Sprintf("has the host %q", host))
		}
		a.Nodes = append(a.Nodes, u)
	}
	a.Index = index
	return a, nil
}
