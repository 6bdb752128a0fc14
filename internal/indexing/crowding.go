package indexing

import (
	"context"

	"example.org/conclave/store"
)

// Crowding is a warning that an index has too few shards for the passages that are being indexed into it.
type Crowding struct {
	Passages int64 // of the inputs, about
	Bytes    int64 // of one copy of the index, about
	Shards   int   // that it has
	Wanted   int   // that would hold them
}

// The disk space of a passage in a cluster, estimated from docs/cluster.md's measured ones: its text,
// words and phrases take three times the text; a vector of 384 numbers is there as it is, with its links;
// and the codes of late interaction, in base64, 19 times the text.
const (
	storedTextShare   = 3
	storedTokenShare  = 19
	storedVectorBytes = 1_700

	// largestShard is up to how many bytes a shard is searched, merged and moved to another node
	// without trouble.
	largestShard = 50 << 30
	// crowdingSample is how many passages are read before the rest is estimated.
	crowdingSample = 256
)

// estimateCrowding returns the warning that an index with this number of shards will be too crowded, by the size of
// what was read and the experts' vectors; nil if the shards suffice. known is false if fewer than crowdingSample
// passages were read or the progress is unknown.
func (s *Sample) estimateCrowding(experts []store.PassageEncoder, shards int) (c *Crowding, known bool) {
	done, total := s.Progress()
	if s.passages < crowdingSample || done <= 0 || total < done {
		return nil, false
	}
	bytes := float64(storedTextShare * s.text)
	for _, e := range experts {
		switch {
		case e.Owner() != "":
		case e.Late():
			bytes += float64(storedTokenShare * s.text)
		default:
			bytes += float64(s.passages) * storedVectorBytes * float64(e.Dimension()) / 384
		}
	}
	all := float64(total) / float64(done)
	c = &Crowding{Passages: int64(all * float64(s.passages)), Bytes: int64(all * bytes), Shards: shards}
	c.Wanted = int((c.Bytes + largestShard - 1) / largestShard)
	if c.Wanted <= shards {
		return nil, true
	}
	return c, true
}

// watchCrowding returns a function to be called again and again while a sample is indexed, by one goroutine. It
// calls o.Crowded, once, as soon as it is known that the index will be too large for its shards. The error says
// that the store does not tell its shards.
func (o *Options) watchCrowding(ctx context.Context, at store.Location, sample *Sample) (func(), error) {
	if o.Crowded == nil {
		return func() {}, nil
	}
	shards, err := at.Shards(ctx)
	if err != nil {
		return nil, err
	}
	told := shards == 0 // nothing that could be crowded
	return func() {
		if told {
			return
		}
		c, known := sample.estimateCrowding(o.Build.Experts, shards)
		told = known
		if c != nil {
			o.Crowded(*c)
		}
	}, nil
}
