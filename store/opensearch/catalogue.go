package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// Catalogue is the indexes of a cluster whose names begin with a prefix; the rest of a name is that of the collection
// in it. All are reached by one client. A collection is made, or removed, by one request, which the cluster carries out
// as a whole or not at all.
type Catalogue struct {
	client *cluster.Client
	prefix string
}

// Entry is a collection of a catalogue.
type Entry struct {
	Name     string
	Manifest *schema.Manifest // nil where Err says why
	// Err is why the index cannot be searched by this program, as far as its description tells.
	Err error
}

// NewCatalogue returns the collections of a cluster whose indexes have names with a prefix.
func NewCatalogue(client *cluster.Client, prefix string) *Catalogue {
	return &Catalogue{client, prefix}
}

// collectionName is what a collection of a cluster may be called: indexes have no capital letters.
var collectionName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,63}$`)

// CheckName returns an error if no collection of a cluster can have the name.
func CheckName(name string) error {
	switch {
	case !collectionName.MatchString(name):
		return fmt.Errorf("%q cannot name a collection of a cluster, whose indexes have names of lower-case letters, digits, '_', '.' and '-', up to 64 and beginning with a letter or digit", name)
	case strings.HasSuffix(name, stateSuffix):
		return fmt.Errorf("%q cannot name a collection of a cluster: what ends with %s is kept beside a collection", name, stateSuffix)
	}
	return nil
}

// CheckName returns an error if no collection of this catalogue can have the name: as the function CheckName, and if
// the name of its index is too long.
func (c *Catalogue) CheckName(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if !cluster.IsIndexName(c.Index(name)) {
		return fmt.Errorf("%q cannot name a collection of this cluster: its index would be %q, whose name is too long", name, c.Index(name))
	}
	return nil
}

// CheckExperts returns an error if a collection in a cluster cannot have vectors of one of the experts: of parts of
// passages, or of weighted word pieces.
func (c *Catalogue) CheckExperts(experts []store.PassageEncoder) error {
	for _, e := range experts {
		if _, err := schema.DescribeEncoder(e); err != nil {
			return err
		}
	}
	return nil
}

// Index returns the name of a collection's index.
func (c *Catalogue) Index(name string) string { return c.prefix + name }

// List returns the collections of the catalogue in the order of their names, those that cannot be opened with the
// reason in Err. Indexes that something else made are left out. It fails if the cluster does not answer.
func (c *Catalogue) List(ctx context.Context) ([]Entry, error) {
	return c.listEntries(ctx, url.PathEscape(c.prefix)+"*", "&expand_wildcards=open,closed")
}

// Find returns a collection by its name; nil without an error if there is none, or no collection can have the name.
// An alias, and an index that something else made, are none.
func (c *Catalogue) Find(ctx context.Context, name string) (*Entry, error) {
	if c.CheckName(name) != nil {
		return nil, nil
	}
	all, err := c.listEntries(ctx, url.PathEscape(c.Index(name)), "")
	if cluster.IsStatus(err, http.StatusNotFound) {
		return nil, nil
	}
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
	if err != nil || i < 0 {
		return nil, err
	}
	return &all[i], nil
}

// listEntries returns the collections among indexes, a name or pattern in a path, in the order of their names. more
// is added to the query of the request. It fails if the cluster does not answer.
func (c *Catalogue) listEntries(ctx context.Context, indexes, more string) (out []Entry, err error) {
	var all map[string]struct {
		Mappings struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"mappings"`
	}
	s := &Store{client: c.client}
	path := "/" + indexes + "/_mapping?local=true&filter_path=*.mappings._meta" + more
	answer, err := s.sendRepeatedFor(ctx, cluster.Opening, http.MethodGet, path, nil, cluster.CheckJSON)
	if err == nil {
		err = json.Unmarshal(answer, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("listing the indexes %s*: %w", c.prefix, err)
	}
	for index, d := range all {
		name, ok := strings.CutPrefix(index, c.prefix)
		raw, ours := d.Mappings.Meta["conclave"]
		if !ok || !ours || c.CheckName(name) != nil {
			continue
		}
		e := Entry{Name: name}
		switch about, err := schema.ParseMeta(raw); {
		case err != nil:
			e.Err = fmt.Errorf("_meta.conclave of index %s: %w", index, err)
		case about.Manifest == nil:
			e.Err = fmt.Errorf("index %s: %w", index, schema.ErrUnfinished)
		default:
			if err := about.Manifest.Check(); err != nil {
				e.Err = fmt.Errorf("index %s: %w", index, err)
				break
			}
			e.Manifest = about.Manifest
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Look returns the Health of each collection by its name, without Statistics, and with the blocks of its own index
// alone. limits and everywhere are the Health.Limits and Health.Blocked of the whole cluster. The node that is asked
// answers by what it knows, so that another one that hangs delays nothing. It fails if the cluster does not answer
// within cluster.Opening.
func (c *Catalogue) Look(ctx context.Context) (all map[string]Health, limits []string, everywhere string, err error) {
	const wild = "expand_wildcards=open,closed&local=true"
	var made map[string]json.RawMessage
	var health struct {
		Indices map[string]Health `json:"indices"`
	}
	var settings map[string]struct {
		Settings struct {
			Index struct {
				Blocks cluster.Blocks `json:"blocks"`
			} `json:"index"`
		} `json:"settings"`
	}
	indexes := url.PathEscape(c.prefix) + "*"
	s := &Store{client: c.client}
	for _, request := range []struct {
		path string
		into any
	}{
		{"/" + indexes + "/_mapping?filter_path=*.mappings._meta.conclave.manifest.id&" + wild, &made},
		{"/_cluster/health/" + indexes + "?level=indices&" + wild, &health},
		{"/" + indexes + "/_settings/index.blocks.*?" + wild, &settings},
	} {
		answer, err := s.sendRepeatedFor(ctx, cluster.Opening, http.MethodGet, request.path, nil, cluster.CheckJSON)
		if err == nil {
			err = json.Unmarshal(answer, request.into)
		}
		if err != nil {
			return nil, nil, "", fmt.Errorf("asking for the states of the indexes %s*: %w", c.prefix, err)
		}
	}
	all = map[string]Health{}
	for index := range made {
		name, ok := strings.CutPrefix(index, c.prefix)
		if ok && c.CheckName(name) == nil {
			h := health.Indices[index]
			h.Blocked = settings[index].Settings.Index.Blocks.Changes()
			all[name] = h
		}
	}
	everywhere, limits = c.client.Limits(ctx)
	return all, limits, everywhere, nil
}

// ErrExists is what Create returns if there is an index of the collection's name.
var ErrExists = errors.New("there is an index of this name")

// Create makes a collection without passages, with the text of its settings, by one request. It returns ErrExists if
// there is an index of its name, whoever made it, and an error if no collection can have the name.
func (c *Catalogue) Create(ctx context.Context, name, settings string, shape schema.Shape, o store.BuildOptions) error {
	if err := c.CheckName(name); err != nil {
		return err
	}
	m, err := schema.NewManifest(o.Words, o.Experts)
	if err != nil {
		return err
	}
	m.Settings = settings
	index := c.Index(name)
	s := &Store{client: c.client, index: index, concrete: index}
	if _, _, err := s.describe(ctx, manager, cluster.Opening); !errors.Is(err, ErrNoIndex) {
		if err == nil || errors.Is(err, schema.ErrForeign) {
			return ErrExists
		}
		return fmt.Errorf("index %s: %w", index, err)
	}
	made, err := makeIndex(ctx, c.client, index, schema.Meta{Manifest: m}, shape)
	if err == nil && made.current().ID != m.ID { // another one was faster
		return ErrExists
	}
	return err
}

// Remove deletes the index of a collection and its register of jobs and inputs, and waits until they are gone. It does
// nothing if there is none, and stops if another one is made under the name meanwhile. Processes that have the
// collection open get *GoneErrors.
func (c *Catalogue) Remove(ctx context.Context, name string) error {
	index := c.Index(name)
	s := &Store{client: c.client, index: index, concrete: index}
	var id string // of what is removed: one that is made anew meanwhile stays
	for pauses := c.client.NewBackoff(); ; {
		has, err := c.Find(ctx, name)
		switch {
		case err != nil:
			return err
		case has == nil:
			return nil
		case has.Manifest != nil && id != "" && has.Manifest.ID != id:
			return nil
		case has.Manifest != nil:
			id = has.Manifest.ID
		}
		_, refused := c.client.Do(ctx, http.MethodDelete,
			"/"+url.PathEscape(index)+","+url.PathEscape(index+stateSuffix)+"?ignore_unavailable=true&timeout=20s", nil)
		var status *cluster.StatusError
		switch {
		case refused == nil:
		case errors.As(refused, &status) && status.Status != 429 && status.Status < 502:
			return fmt.Errorf("removing index %s: %w", index, refused)
		}
		if refused == nil {
			if _, _, err := s.describe(ctx, manager, cluster.Opening); errors.Is(err, ErrNoIndex) {
				return nil
			}
		}
		if err := pauses.Wait(ctx); err != nil {
			return fmt.Errorf("removing index %s: %w", index, errors.Join(err, refused))
		}
	}
}
