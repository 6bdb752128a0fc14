package backend

import (
	"context"
	"fmt"

	"example.org/conclave/store"
	"example.org/conclave/store/opensearch"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// Cluster is the collections of a cluster: the indexes whose names begin with a prefix, behind one client.
type Cluster struct {
	*opensearch.Catalogue
	address string // with the prefix, for people
	cluster cluster.Address
	client  *cluster.Client
	shape   schema.Shape
}

// OpenCluster connects to a cluster and returns its collections. address is that of the nodes, with the prefix of the
// indexes' names in the place of an index; shape is that of collections to be made. It fails if no node answers.
func OpenCluster(ctx context.Context, address string, access cluster.Access, shape schema.Shape) (*Cluster, error) {
	a, err := cluster.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	client, err := cluster.NewClient(a.Nodes, access)
	if err != nil {
		return nil, err
	}
	if err := client.Connect(ctx); err != nil {
		return nil, fmt.Errorf("the store %s: %w", address, err)
	}
	return &Cluster{opensearch.NewCatalogue(client, a.Index), address, a, client, shape}, nil
}

// At returns the location of a collection, which need not be there. It fails if no collection can have the name.
func (c *Cluster) At(name string) (store.Location, error) {
	if err := c.CheckName(name); err != nil {
		return nil, err
	}
	address := c.cluster
	address.Index = c.Index(name)
	return &location{address: c.address + name, cluster: address, shape: c.shape, client: c.client}, nil
}

// Create makes a collection without passages, with the text of its settings. It returns opensearch.ErrExists if there
// is an index of its name.
func (c *Cluster) Create(ctx context.Context, name, settings string, o store.BuildOptions) error {
	return c.Catalogue.Create(ctx, name, settings, c.shape, o)
}

// Conditions asks the cluster for its condition, and for those of its collections, by their names: each as
// Backend.Watch reports that of an open one. If the cluster does not answer, whole has Failed, and byName is nil.
func (c *Cluster) Conditions(ctx context.Context) (whole store.Condition, byName map[string]store.Condition) {
	all, limits, everywhere, err := c.Look(ctx)
	whole = conditionIn(opensearch.Health{Status: "green", Limits: limits, Blocked: everywhere}, nil)
	if err != nil {
		return store.Condition{Of: conditionOf, Failed: err.Error()}, nil
	}
	byName = map[string]store.Condition{}
	for name, h := range all {
		byName[name] = conditionIn(h, nil)
	}
	return whole, byName
}

// Find returns the entry of one collection; nil if there is none. The error is a *store.UnavailableError if the cluster
// does not answer.
func (c *Cluster) Find(ctx context.Context, name string) (*opensearch.Entry, error) {
	e, err := c.Catalogue.Find(ctx, name)
	return e, cluster.Unavailable(err)
}

// List returns the collections, in the order of their names. The error is a *store.UnavailableError if the cluster does
// not answer.
func (c *Cluster) List(ctx context.Context) ([]opensearch.Entry, error) {
	all, err := c.Catalogue.List(ctx)
	return all, cluster.Unavailable(err)
}

// Bytes returns the bytes of a collection's shards, without their copies. It fails if the collection cannot be opened
// or a node does not answer.
func (c *Cluster) Bytes(ctx context.Context, name string) (int64, error) {
	stored, err := opensearch.Open(ctx, c.client, c.Index(name))
	if err != nil {
		return 0, err
	}
	n, err := stored.Statistics(ctx)
	return n.Bytes, err
}

// Observe sets a function that is called after each request to a node, at the same time by several goroutines.
func (c *Cluster) Observe(f func(store.Exchange)) {
	c.client.Observe(func(e cluster.Exchange) { f(store.Exchange(e)) })
}
