package opensearch

import (
	"context"
	"time"

	"example.org/conclave/internal/jobs/lease"
	"example.org/conclave/store/opensearch/schema"
)

// The leases of an index.
const (
	indexLock = "lock"      // of who fills it, or adds or removes an expert: one at a time, others are refused
	metaLock  = "meta-lock" // of who reads _meta, changes and writes it: others wait
)

// withLease calls work while this process holds a lease of the index with a name. It waits for another holder for
// patience, then returns a *lease.HeldError. The context of work ends if the lease is lost. doing says for others
// what work does.
func (s *Store) withLease(
	ctx context.Context,
	name, doing string,
	patience time.Duration,
	work func(context.Context) error,
) error {
	return lease.Lease{
		Register: s.Register(name),
		Of:       "index " + s.concrete,
		Beat:     lease.Beat,
	}.Hold(ctx, doing, patience, work)
}

// changeMeta reads _meta as it is now, calls change with it, and writes the result, with the fields of the mapping in
// fields unless that is nil, while it holds the lease of _meta. If change returns an error, nothing is written and
// changeMeta returns it.
func (s *Store) changeMeta(ctx context.Context, fields object, change func(*schema.Meta) error) error {
	return s.withLease(ctx, metaLock, "a change of _meta", bulkPatience, func(ctx context.Context) error {
		now, err := open(ctx, s.client, s.index, bulkPatience)
		if err != nil {
			return err
		}
		about := now.about
		if err := change(&about); err != nil {
			return err
		}
		return s.putMapping(ctx, about, fields)
	})
}
