package opensearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// shareOf gives the passages of a source that fall to a share.
type shareOf struct {
	store.Stream
	share store.Share
}

// Next returns the next passage of the share.
func (s shareOf) Next() (corpus.Passage, error) {
	for {
		p, err := s.Stream.Next()
		if err != nil || int(corpus.SampleKey(p.ID)%uint32(s.share.Of)) == s.share.At-1 {
			return p, err
		}
	}
}

// shares is the register of the processes that fill an index.
type shares struct {
	Of   int   `json:"of"`
	Done []int `json:"done"`
}

const (
	fillingRegister = "filling"
	shareLock       = "lock-share-"
	// beginningShare is how long one share waits for another that makes the index, or ends.
	beginningShare = 30 * time.Second
)

// BuildShare does what Build does for one share, while other processes do it for the others. While an
// index is made in this way it has no copies and is not refreshed. Whichever process ends last gives it
// both, waits for the copies, and writes the manifest; a share that was interrupted goes on when it is
// started again, and until then the index is not finished.
func BuildShare(
	ctx context.Context,
	client *cluster.Client,
	index string,
	shape schema.Shape,
	share store.Share,
	source store.Stream,
	o store.BuildOptions,
) (report store.BuildReport, err error) {
	for _, e := range o.Experts {
		if _, err := schema.DescribeEncoder(e); err != nil {
			return report, err
		}
	}
	doing := "indexing share " + share.String()
	var s *Store
	err = exclusively(ctx, client, index, doing, beginningShare, func(ctx context.Context) (err error) {
		shape.Filling = true
		s, err = begin(ctx, client, index, o, shape)
		if err != nil {
			return err
		}
		return s.join(ctx, share)
	})
	if err != nil {
		return report, err
	}
	err = s.holding(ctx, shareLock+strconv.Itoa(share.At), doing, 0, func(ctx context.Context) (err error) {
		report, err = s.Add(ctx, shareOf{source, share}, o)
		if err != nil && !errors.Is(err, errNothing) { // few passages may leave a share without one
			return err
		}
		return s.holding(ctx, indexLock, doing, bulkPatience, func(ctx context.Context) error { return s.leave(ctx, share) })
	})
	return report, err
}

// readShares returns who fills the index, and the version of that.
func (s *Store) readShares(ctx context.Context) (of shares, version string, err error) {
	data, version, err := s.Register(fillingRegister).Read(ctx)
	if err == nil && data != nil {
		err = json.Unmarshal(data, &of)
	}
	return of, version, err
}

func (s *Store) writeShares(ctx context.Context, of shares, version string) error {
	data, err := json.Marshal(of)
	if err != nil {
		return err
	}
	_, done, err := s.Register(fillingRegister).Write(ctx, data, version)
	if err == nil && !done {
		err = fmt.Errorf("register %s of index %s was changed by somebody who does not fill it", fillingRegister, s.index)
	}
	return err
}

// join adds a share to those who fill the index, which is held meanwhile.
func (s *Store) join(ctx context.Context, share store.Share) error {
	of, version, err := s.readShares(ctx)
	if err != nil {
		return err
	}
	if of.Of != share.Of {
		if s.about.Manifest == nil && of.Of > 0 {
			return fmt.Errorf("index %s is being filled in %d shares, and %s is one of %d: give each process one of %d",
				s.index, of.Of, share, share.Of, of.Of)
		}
		of = shares{Of: max(of.Of, share.Of)}
	}
	of.Done = slices.DeleteFunc(of.Done, func(n int) bool { return n == share.At })
	return s.writeShares(ctx, of, version)
}

// leave says that a share has ended. The last of an index that is being made finishes it. The index is
// held meanwhile.
func (s *Store) leave(ctx context.Context, share store.Share) error {
	of, version, err := s.readShares(ctx)
	if err != nil {
		return err
	}
	of.Done = append(of.Done, share.At)
	slices.Sort(of.Done)
	now, err := open(ctx, s.client, s.index, bulkPatience)
	if err != nil {
		return err
	}
	if now.about.Manifest == nil && len(of.Done) == of.Of {
		if err := now.finish(ctx, ""); err != nil {
			return err
		}
	}
	return s.writeShares(ctx, of, version)
}

// finish gives an index that was filled what it has otherwise, and publishes its manifest.
func (s *Store) finish(ctx context.Context, calibration string) error {
	if of := s.about.Filling; of != nil {
		body, err := json.Marshal(object{"index": object{"number_of_replicas": of.Replicas, "refresh_interval": nil}})
		if err == nil {
			_, err = s.ask(ctx, "PUT", s.path("/_settings"), body, cluster.CheckJSON)
		}
		if err != nil {
			return fmt.Errorf("giving index %s its copies: %w", s.index, err)
		}
		if err := s.copied(ctx); err != nil {
			return err
		}
	}
	if err := s.refresh(ctx); err != nil {
		return err
	}
	return s.changeMeta(ctx, nil, func(about *schema.Meta) error {
		if about.Plan != nil {
			*about = schema.Meta{Manifest: about.Plan}
			about.Manifest.Calibration = calibration
		}
		return nil
	})
}

// copied waits until the copies of all shards are there that nodes are making. Those that no node is
// there for are not waited for.
func (s *Store) copied(ctx context.Context) error {
	for idle := 0; idle < 5; {
		answer, err := s.ask(ctx, "GET", "/_cluster/health"+s.path(""), nil, cluster.CheckJSON)
		if err != nil {
			return err
		}
		var is struct {
			Status  string `json:"status"`
			Making  int    `json:"initializing_shards"`
			Waiting int    `json:"delayed_unassigned_shards"`
		}
		if err := json.Unmarshal(answer, &is); err != nil {
			return fmt.Errorf("%w: %w", cluster.ErrAnswer, err)
		}
		if is.Status == "green" {
			return nil
		}
		idle++
		if is.Making+is.Waiting > 0 {
			idle = 0
		}
		if err := cluster.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// withoutShares does work while nobody fills a share of the index.
func (s *Store) withoutShares(ctx context.Context, doing string, work func(context.Context) error) error {
	of, _, err := s.readShares(ctx)
	if err != nil {
		return err
	}
	for n := range of.Of {
		inner := work
		work = func(ctx context.Context) error {
			return s.holding(ctx, shareLock+strconv.Itoa(n+1), doing, 0, inner)
		}
	}
	return work(ctx)
}
