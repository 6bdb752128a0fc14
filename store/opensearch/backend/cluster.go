package backend

import (
	"context"
	"fmt"

	"example.org/conclave/store"
	"example.org/conclave/store/opensearch"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// Cluster is the indexes of a cluster with a prefix, a collection each, behind one client.
type Cluster struct {
	*opensearch.Catalogue
	address string // with the prefix, for people
	cluster cluster.Address
	client  *cluster.Client
	shape   schema.Shape
}

// OpenCluster connects to a cluster and returns its collections. address is that of the nodes with the prefix of the
// indexes in the place of an index; shape is for collections that are made. It fails if no node answers.
func OpenCluster(
	ctx context.Context,
	address string,
	access cluster.Access,
	shape schema.Shape,
) (*Cluster, error) {
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

// At returns where a collection is kept, or will be.
func (c *Cluster) At(name string) (store.Location, error) {
	if err := c.CheckName(name); err != nil {
		return nil, err
	}
	of := c.cluster
	of.Index = c.Index(name)
	return &location{address: c.address + name, cluster: of, shape: c.shape, client: c.client}, nil
}

// Create makes a collection without passages.
func (c *Cluster) Create(ctx context.Context, name, settings string, o store.BuildOptions) error {
	return c.Catalogue.Create(ctx, name, settings, c.shape, o)
}

// Conditions returns how the cluster is, and each collection by its name as Backend.Watch tells it of one that is open.
func (c *Cluster) Conditions(ctx context.Context) (whole store.Condition, of map[string]store.Condition) {
	all, limits, everywhere, err := c.Look(ctx)
	whole = conditionIn(opensearch.Health{Status: "green", Limits: limits, Blocked: everywhere}, nil)
	if err != nil {
		return store.Condition{Of: conditionOf, Failed: err.Error()}, nil
	}
	of = map[string]store.Condition{}
	for name, h := range all {
		of[name] = conditionIn(h, nil)
	}
	return whole, of
}

// Find returns one collection; nil where there is none.
func (c *Cluster) Find(ctx context.Context, name string) (*opensearch.Entry, error) {
	e, err := c.Catalogue.Find(ctx, name)
	return e, cluster.Unavailable(err)
}

// List returns the collections, in the order of their names.
func (c *Cluster) List(ctx context.Context) ([]opensearch.Entry, error) {
	all, err := c.Catalogue.List(ctx)
	return all, cluster.Unavailable(err)
}

// Bytes returns how many the shards of a collection take, without their copies.
func (c *Cluster) Bytes(ctx context.Context, name string) (int64, error) {
	stored, err := opensearch.Open(ctx, c.client, c.Index(name))
	if err != nil {
		return 0, err
	}
	n, err := stored.Statistics(ctx)
	return n.Bytes, err
}

// Observe has a function called after each request to a node.
func (c *Cluster) Observe(f func(store.Exchange)) {
	c.client.Observe(func(e cluster.Exchange) { f(store.Exchange(e)) })
}
