package cluster

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Address is the address of an index, or of the indexes with a prefix.
type Address struct {
	Nodes []*url.URL // with scheme and host alone
	Index string
}

const addressScheme = "opensearch+"

// indexName matches the names that an index may have: the cluster's own rules, a little narrower.
var indexName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,199}$`)

// IsIndexName reports whether an index may have the name.
func IsIndexName(name string) bool { return indexName.MatchString(name) }

// ParseAddress parses opensearch+https://HOST:PORT,HOST:PORT/INDEX, or the same with http. It fails for any other
// form: with a user, without an index, with an impossible name of one, or with a path or query after a host.
func ParseAddress(text string) (a Address, err error) {
	wrong := func(why string) (Address, error) {
		if strings.Contains(text, "@") {
			return a, errors.New("the address of the store has a user in it: put the user into cluster.user and the password into cluster.password_file")
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
