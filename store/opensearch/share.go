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

// shareOf reads the passages of a source that belong to one share.
type shareOf struct {
	store.Stream
	share store.Share
}

// Next returns the next passage of the share; io.EOF after the last.
func (s shareOf) Next() (corpus.Passage, error) {
	for {
		p, err := s.Stream.Next()
		if err != nil || int(corpus.SampleKey(p.ID)%uint32(s.share.Of)) == s.share.At-1 {
			return p, err
		}
	}
}

// shares is the content of the register that lists the shares that were filled.
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

// BuildShare adds the passages of one share to an index, while other processes add those of the other shares; it makes
// the index if there is none. Meanwhile the index has no copies and is not refreshed. The process that ends last
// restores both, waits for the copies, and writes the manifest. A share that was interrupted goes on when it is started
// again; until then the index is not finished. It fails if the cluster does, or an encoder, or source.
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
	err = changeExclusively(ctx, client, index, doing, beginningShare, func(ctx context.Context) (err error) {
		shape.Filling = true
		s, err = begin(ctx, client, index, o, shape)
		if err != nil {
			return err
		}
		return s.joinShares(ctx, share)
	})
	if err != nil {
		return report, err
	}
	err = s.withLease(ctx, shareLock+strconv.Itoa(share.At), doing, 0, func(ctx context.Context) (err error) {
		report, err = s.Add(ctx, shareOf{source, share}, o)
		if err != nil && !errors.Is(err, errNothing) { // few passages may leave a share without one
			return err
		}
		return s.withLease(ctx, indexLock, doing, bulkPatience, func(ctx context.Context) error {
			return s.leaveShares(ctx, share)
		})
	})
	return report, err
}

// readShares returns the content of the register of the processes that fill the index, and its version; the zero
// value and "" if there is none. It fails if the cluster does not answer or the register has something else.
func (s *Store) readShares(ctx context.Context) (content shares, version string, err error) {
	data, version, err := s.Register(fillingRegister).Read(ctx)
	if err == nil && data != nil {
		err = json.Unmarshal(data, &content)
	}
	return content, version, err
}

// writeShares writes the register of the processes that fill the index. It fails if the register has not the given
// version any more.
func (s *Store) writeShares(ctx context.Context, content shares, version string) error {
	data, err := json.Marshal(content)
	if err != nil {
		return err
	}
	_, done, err := s.Register(fillingRegister).Write(ctx, data, version)
	if err == nil && !done {
		err = fmt.Errorf("register %s of index %s was changed by a process that does not take part in the filling", fillingRegister, s.index)
	}
	return err
}

// joinShares notes that a share is being filled: it is no longer among those that are done. The caller holds the
// lease of the index. It fails if the index is being filled for the first time in another number of shares.
func (s *Store) joinShares(ctx context.Context, share store.Share) error {
	content, version, err := s.readShares(ctx)
	if err != nil {
		return err
	}
	if content.Of != share.Of {
		if s.about.Manifest == nil && content.Of > 0 {
			return fmt.Errorf("index %s is being filled in %d shares, and %s is one of %d: give each process one of %d",
				s.index, content.Of, share, share.Of, content.Of)
		}
		content = shares{Of: max(content.Of, share.Of)}
	}
	content.Done = slices.DeleteFunc(content.Done, func(n int) bool { return n == share.At })
	return s.writeShares(ctx, content, version)
}

// leaveShares notes that a share has been filled, and publishes the index after the last one. The caller holds the
// lease of the index. It fails if the cluster does not answer; the share then counts as not filled.
func (s *Store) leaveShares(ctx context.Context, share store.Share) error {
	content, version, err := s.readShares(ctx)
	if err != nil {
		return err
	}
	content.Done = append(content.Done, share.At)
	slices.Sort(content.Done)
	now, err := open(ctx, s.client, s.index, bulkPatience)
	if err != nil {
		return err
	}
	if now.about.Manifest == nil && len(content.Done) == content.Of {
		if err := now.publishManifest(ctx, ""); err != nil {
			return err
		}
	}
	return s.writeShares(ctx, content, version)
}

// publishManifest makes the plan the manifest, with the text of a calibration, after a refresh. If the index was
// filled by several processes, it first sets the number of copies and the refresh interval, and waits for the copies.
// It changes nothing if there is no plan. It fails if the cluster does not answer; the index then stays unfinished.
func (s *Store) publishManifest(ctx context.Context, calibration string) error {
	if filling := s.about.Filling; filling != nil {
		body, err := json.Marshal(object{"index": object{"number_of_replicas": filling.Replicas, "refresh_interval": nil}})
		if err == nil {
			_, err = s.sendRepeated(ctx, "PUT", s.path("/_settings"), body, cluster.CheckJSON)
		}
		if err != nil {
			return fmt.Errorf("giving index %s its copies: %w", s.index, err)
		}
		if err := s.awaitCopies(ctx); err != nil {
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

// awaitCopies waits until the nodes have made the copies of all shards, or for five seconds in which none is being
// made or delayed: it does not wait for copies that no node can take. It fails if the cluster does not answer or ctx
// ends.
func (s *Store) awaitCopies(ctx context.Context) error {
	for idle := 0; idle < 5; {
		answer, err := s.sendRepeated(ctx, "GET", "/_cluster/health"+s.path(""), nil, cluster.CheckJSON)
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

// whileNoShares calls work while it holds the leases of all shares of the index, if it is filled in shares, so that no
// process fills one meanwhile. If a process does, it returns a *lease.HeldError at once. doing says for others what
// work does. It fails if the shares cannot be read.
func (s *Store) whileNoShares(ctx context.Context, doing string, work func(context.Context) error) error {
	content, _, err := s.readShares(ctx)
	if err != nil {
		return err
	}
	for n := range content.Of {
		inner := work
		work = func(ctx context.Context) error {
			return s.withLease(ctx, shareLock+strconv.Itoa(n+1), doing, 0, inner)
		}
	}
	return work(ctx)
}
