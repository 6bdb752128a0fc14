package opensearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// Store is an index of a cluster that holds a collection.
type Store struct {
	client *cluster.Client
	index  string
	about  schema.Meta // as it was read or written last
	// concrete is the index's own name, where the one that it was opened by is an alias.
	concrete string

	fields map[string]object // of the mapping as it was opened

	// windows are the places of windows of passages that were scanned, as []rank.Span by an entry of the field and the
	// id.
	windows sync.Map

	aimed  atomic.Bool // the index has its target
	shards int         // of the index

	blocks string // by which it takes no changes, as it was opened

	members []*Store // of several indexes that are read as one (Join)
}

// Open reads what an index is, from any node, and checks that this program can search it: that its indexing has
// ended, and that it has the fields and settings that its manifest says. It returns ErrNoIndex, schema.ErrUnfinished
// or schema.ErrForeign, and errors of a cluster that does not answer within cluster.Opening.
func Open(ctx context.Context, client *cluster.Client, index string) (*Store, error) {
	s, err := openFrom(ctx, client, index, anyNode, cluster.Opening)
	if err == nil && s.about.Manifest == nil {
		err = schema.ErrUnfinished
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", index, err)
	}
	return s, nil
}

// open reads and checks an index that need not be finished, as the cluster's manager describes it. patience is how long
// the cluster has to answer. It returns ErrNoIndex if there is none.
func open(ctx context.Context, client *cluster.Client, index string, patience time.Duration) (*Store, error) {
	return openFrom(ctx, client, index, manager, patience)
}

// Whom describe asks. The manager knows best; any node suffices to search, also while the
// manager hangs, which takes half a minute.
const (
	manager = ""
	anyNode = "?local=true"
)

// openFrom reads and checks an index, which need not be finished, as the node or manager that whom says describes it
// (anyNode, manager). The cluster has patience to answer. It returns ErrNoIndex if there is none, and an error if the
// index has not the fields and settings of its manifest or plan.
func openFrom(ctx context.Context, client *cluster.Client, index, whom string, patience time.Duration) (*Store, error) {
	s := &Store{client: client, index: index, concrete: index}
	has, about, err := s.describe(ctx, whom, patience)
	if err != nil {
		return nil, err
	}
	s.about = *about
	s.fields = has.Mappings.Properties
	s.blocks = has.Settings.Index.Blocks.Changes()
	s.aimed.Store(has.HasAlias(s.target()))
	s.shards, err = strconv.Atoi(has.Settings.Index.Shards)
	if err != nil || s.shards < 1 {
		return nil, fmt.Errorf("%w: its number of shards is %q", cluster.ErrAnswer, has.Settings.Index.Shards)
	}
	for _, m := range []*schema.Manifest{s.about.Manifest, s.about.Plan} {
		if m == nil {
			continue
		}
		if err := errors.Join(m.Check(), has.CheckFits(m)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Manifest returns how the index was made; nil while its first indexing has not ended.
func (s *Store) Manifest() *schema.Manifest { return s.about.Manifest }

// Observe sets a function that is called after each request to a node, by several goroutines at the same time. It has
// to be set before the store is used by several.
func (s *Store) Observe(f func(cluster.Exchange)) {
	s.client.Observe(f)
}

// Index returns the name of the index, or of the alias by which it was opened. For several joined indexes it returns
// their names, separated by commas.
func (s *Store) Index() string { return s.index }

// ErrOther is the error of an index that was made with other words or experts than are asked for.
var ErrOther = errors.New("the existing index was made with other settings")

// Shards returns the number of shards of an index; 0 and no error if there is no index of this name. It fails if the
// cluster does not answer.
func Shards(ctx context.Context, client *cluster.Client, index string) (int, error) {
	s, err := open(ctx, client, index, cluster.Opening)
	if errors.Is(err, ErrNoIndex) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("opening %s: %w", index, err)
	}
	return s.shards, nil
}

// Planned returns the manifest that an index has, or will have when the indexing that makes it ends. It returns
// ErrNoIndex if there is none.
func Planned(ctx context.Context, client *cluster.Client, index string) (*schema.Manifest, error) {
	s, err := open(ctx, client, index, cluster.Opening)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", index, err)
	}
	return s.current(), nil
}

// begin makes the index for passages with the words and experts of o, or opens the one that is there, finished or
// not. It returns an ErrOther if that one has other words, where o has some, and an error if it has other experts.
// The zero value of o.Words makes an index with BM25's defaults. shape counts for a new index only.
func begin(
	ctx context.Context,
	client *cluster.Client,
	index string,
	o store.BuildOptions,
	shape schema.Shape,
) (*Store, error) {
	s, err := open(ctx, client, index, cluster.Opening)
	if errors.Is(err, ErrNoIndex) {
		if o.Words == (bm25.Params{}) {
			o.Words = bm25.DefaultParams()
		}
		var plan *schema.Manifest
		plan, err = schema.NewManifest(o.Words, o.Experts)
		if err != nil {
			return nil, err
		}
		about := schema.Meta{Plan: plan}
		if shape.Filling {
			about.Filling = &schema.Filling{Replicas: shape.Replicas}
		}
		s, err = makeIndex(ctx, client, index, about, shape)
	}
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", index, err)
	}
	has := s.current()
	if o.Words != (bm25.Params{}) && has.Words.Params() != o.Words {
		return nil, fmt.Errorf("%w: index %s has %s, and %v was asked for", ErrOther, index, has, o.Words)
	}
	if err := has.CheckAllEncoders(o.Experts); err != nil {
		return nil, fmt.Errorf("index %s: %w", index, err)
	}
	return s, nil
}

// makeIndex makes an index with the description about and the shape, and returns it opened. If another process makes
// it at the same time, that index is returned, whatever its description. It returns a *cluster.BlockedError if the
// cluster makes no indexes.
func makeIndex(
	ctx context.Context,
	client *cluster.Client,
	index string,
	about schema.Meta,
	shape schema.Shape,
) (*Store, error) {
	s := &Store{client: client, index: index, concrete: index, about: about}
	m := s.current()
	body, err := json.Marshal(object{
		"settings": schema.Settings(m.Words, shape),
		"mappings": schema.Mapping(m, about),
		"aliases":  object{s.target(): hidden},
	})
	if err != nil {
		return nil, err
	}
	_, refused := s.sendRepeated(ctx, "PUT", s.path("?timeout=20s"), body, cluster.CheckJSON)
	made, err := open(ctx, client, index, bulkPatience) // also where it is there by a request that nobody answered
	if err != nil {
		return nil, s.notMadeError(cmp.Or(refused, err))
	}
	return made, nil
}

// notMadeError returns the error of an index that could not be made: a *cluster.BlockedError if the cluster makes no
// indexes now.
func (s *Store) notMadeError(err error) error {
	var status *cluster.StatusError
	if errors.As(err, &status) && status.Status == http.StatusForbidden &&
		strings.Contains(status.Body, "index_create_block_exception") {
		return &cluster.BlockedError{Index: s.index, Reason: cluster.Reason([]byte(status.Body)), Making: true}
	}
	return fmt.Errorf("making index %s: %w", s.index, err)
}

// Calibrate keeps the text of a calibration with the index; "" means none. It returns ErrUnfinished if the index has
// no manifest yet.
func (s *Store) Calibrate(ctx context.Context, text string) error {
	return s.changeMeta(ctx, nil, func(about *schema.Meta) error {
		if about.Manifest == nil {
			return schema.ErrUnfinished
		}
		about.Manifest.Calibration = text
		return nil
	})
}

// Configure keeps the text of a collection's settings with the index; "" means none. The manifest of s stays as it
// was, for those who search it; the next Look has the new one. It returns ErrUnfinished if the index has no manifest
// yet, a *cluster.BlockedError if the cluster has blocked the index, and a *SilentError if it does not answer.
func (s *Store) Configure(ctx context.Context, text string) error {
	began := time.Now()
	now, err := open(ctx, s.client, s.index, bulkPatience) // so that who searches s has the manifest as it was
	if err == nil {
		err = now.changeMeta(ctx, nil, func(about *schema.Meta) error {
			if about.Manifest == nil {
				return schema.ErrUnfinished
			}
			about.Manifest.Settings = text
			return nil
		})
	}
	silent := ctx.Err() == nil && !errors.As(err, new(*cluster.BlockedError)) &&
		errors.As(cluster.Unavailable(err), new(*store.UnavailableError))
	if silent {
		return &SilentError{s.index, time.Since(began).Round(time.Second), err}
	}
	return err
}

// putMapping writes _meta and adds fields to the mapping; nil adds none. On success s.about is the new one. Only
// changeMeta and others that hold the lease of _meta may call it. It fails if the cluster does.
func (s *Store) putMapping(ctx context.Context, about schema.Meta, fields object) error {
	change := object{"_meta": object{"conclave": about}}
	if fields != nil {
		change["properties"] = fields
	}
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = s.sendRepeated(ctx, "PUT", s.path("/_mapping?timeout=20s"), body, cluster.CheckJSON)
	if err == nil {
		s.about = about
	}
	return err
}

// refresh lets searches see what was acknowledged before. It fails if the cluster does not do so within bulkPatience.
func (s *Store) refresh(ctx context.Context) error { return s.refreshFor(ctx, bulkPatience) }

// refreshFor lets searches see what was acknowledged before, like refresh; it fails if the cluster does not do so
// within patience.
func (s *Store) refreshFor(ctx context.Context, patience time.Duration) error {
	_, err := s.sendRepeatedFor(ctx, patience, "POST", s.path("/_refresh"), nil, cluster.CheckWhole)
	s.client.NoteChange() // what was written before is counted from now on
	return err
}

// path returns the path of a request about the index: its name, then rest.
func (s *Store) path(rest string) string { return "/" + url.PathEscape(s.index) + rest }

// Statistics are the numbers of passages of an index, and of deleted documents that it still has until they are merged
// away. A replaced passage leaves one such document, which counts in the statistics of words; a deleted one leaves two,
// since the cluster keeps a note of the deletion. Copies merge by themselves.
type Statistics struct {
	Passages, Deleted int64
	// Cut are the passages of which an encoder reads only the beginning, and Unread those
	// that one can hardly read.
	Cut, Unread int64
	Bytes       int64 // of the shards, without their copies
	inCopies    int64 // deleted ones, in all copies
	changes     int64 // that the nodes made of the index since they have it
}

// Statistics asks the cluster how many passages and deleted documents the index has, and how large it is. It fails if
// a node does not answer in time; the numbers that are known then are set.
func (s *Store) Statistics(ctx context.Context) (Statistics, error) {
	out, err := s.countFound(ctx)
	if err == nil {
		err = s.readSizes(ctx, cluster.Opening, &out)
	}
	return out, err
}

// countFound returns the numbers of Statistics that a search finds (Passages, Cut and Unread), which a hanging node
// does not delay; the others are 0. If shards have no copy, the numbers are of the others, and come with an error.
func (s *Store) countFound(ctx context.Context) (out Statistics, err error) {
	count := func(clauses object) object {
		return object{"size": 0, "track_total_hits": true, "query": withoutStandIns(object{"bool": clauses})}
	}
	marked := func(mark string) object {
		return count(object{"filter": object{"term": object{schema.FieldExperts: mark}}})
	}
	counted, err := s.multiPartly(ctx, []object{count(object{}), marked(schema.MarkCut), marked(schema.MarkUnread)})
	if err != nil {
		return out, err
	}
	out.Passages = counted[0].total
	out.Cut, out.Unread = counted[1].total, counted[2].total
	return out, firstLostError(counted)
}

// readSizes sets in sizes the numbers of Statistics that searches do not find: deleted documents, bytes and changes.
// Every node with a copy is asked; one that hangs delays it until the cluster goes on without the node, or patience
// ends. If it fails, it sets none.
func (s *Store) readSizes(ctx context.Context, patience time.Duration, sizes *Statistics) error {
	type documents struct {
		Docs struct {
			Deleted int64 `json:"deleted"`
		} `json:"docs"`
		Indexing struct {
			Made    int64 `json:"index_total"`
			Deleted int64 `json:"delete_total"`
		} `json:"indexing"`
		Store struct {
			Bytes int64 `json:"size_in_bytes"`
		} `json:"store"`
	}
	var found struct {
		All struct {
			Primaries documents `json:"primaries"`
			Total     documents `json:"total"`
		} `json:"_all"`
	}
	answer, err := s.sendRepeatedFor(ctx, patience, "GET", s.path("/_stats/docs,indexing,store"), nil, cluster.CheckWhole)
	if err == nil {
		err = json.Unmarshal(answer, &found)
	}
	if err != nil {
		return err
	}
	one := found.All.Primaries
	sizes.Deleted, sizes.Bytes = one.Docs.Deleted, one.Store.Bytes
	sizes.inCopies = found.All.Total.Docs.Deleted
	sizes.changes = one.Indexing.Made + one.Indexing.Deleted
	return nil
}

// settlePatience is how long Settle waits until deleted documents are gone. The copies of a shard tell each other every
// 30 seconds how far they are, and a copy keeps what another one may still need.
const settlePatience = 90 * time.Second

// Settle merges deleted documents away, so that the statistics of words are of the passages that are there, and waits
// until copies have none either, settlePatience at most; if some are left then, that is no error. It rewrites
// segments, which takes as long as copying them.
func (s *Store) Settle(ctx context.Context) error {
	for since := time.Now(); ; {
		if _, err := s.sendRepeated(ctx, "POST", s.path("/_flush"), nil, cluster.CheckWhole); err != nil {
			return err
		}
		answer, err := s.client.Do(ctx, "POST", s.path("/_forcemerge?only_expunge_deletes=true"), nil)
		if err == nil {
			err = cluster.CheckWhole(answer)
		}
		if err != nil {
			return fmt.Errorf("merging the segments of %s: %w", s.index, err)
		}
		if err := s.refresh(ctx); err != nil {
			return err
		}
		left, err := s.Statistics(ctx)
		if err != nil || left.inCopies == 0 || time.Since(since) > settlePatience {
			return err
		}
		if err := cluster.Sleep(ctx, 2*time.Second); err != nil {
			return err
		}
	}
}
