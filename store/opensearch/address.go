// Package opensearch keeps a collection in an index of an OpenSearch cluster: passages,
// their vectors and their words, sharded and replicated there. Analysis, encoding and the
// codes of late interaction are ours; the cluster gets terms and numbers.
//
// Words used here:
//
//   - store: an index that holds a collection;
//   - manifest: how it was made, under _meta of the index's mapping;
//   - plan: a manifest of what is being made, which becomes the manifest when all of it
//     is there;
//   - mark: what a passage says of an expert whose vectors it has.
//
// A request that got no answer may have been carried out. So everything that changes
// something has a condition or may be done twice, and is sent again until the cluster
// says what became of it.
package opensearch

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Address is where a store is.
type Address struct {
	Nodes []*url.URL // with scheme and host alone
	Index string
}

const addressScheme = "opensearch+"

// indexName is what an index may be called: the cluster's own rules, a little narrower.
var indexName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,199}$`)

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
	if !indexName.MatchString(index) {
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
