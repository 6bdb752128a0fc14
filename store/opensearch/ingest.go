package opensearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// batchPassages is how many passages are read, encoded and written at a time. What was
// encoded and not yet written is encoded again after an interruption: a batch at most.
const batchPassages = 256

// writing is the one stage of indexing: passages are encoded and written batch by batch.
const writing store.Stage = "encoding and writing"

// errNothing is the error of a source without passages.
var errNothing = errors.New("there was no passage to index")

// Build makes an index of the passages of source, or goes on with one that an
// interrupted Build began: passages that are there with their vectors are not encoded
// again. The manifest is written last; until then Open refuses the index. While another
// process fills the index, or adds or removes an expert, that is a *lease.HeldError.
func Build(
	ctx context.Context,
	client *cluster.Client,
	index string,
	shape schema.Shape,
	source store.Stream,
	o store.BuildOptions,
	calibration string,
) (report store.BuildReport, err error) {
	for _, e := range o.Experts { // before anything is done
		if _, err := schema.DescribeEncoder(e); err != nil {
			return report, err
		}
	}
	err = changing(ctx, client, index, "indexing", func(ctx context.Context) (err error) {
		report, err = build(ctx, client, index, shape, source, o, calibration)
		return err
	})
	return report, err
}

func build(
	ctx context.Context,
	client *cluster.Client,
	index string,
	shape schema.Shape,
	source store.Stream,
	o store.BuildOptions,
	calibration string,
) (report store.BuildReport, err error) {
	s, err := begin(ctx, client, index, o, shape)
	if err != nil {
		return report, err
	}
	report, err = s.Add(ctx, source, o)
	if err != nil {
		return report, err
	}
	if err := s.refresh(ctx); err != nil {
		return report, err
	}
	copies, err := s.Copies(ctx)
	if err != nil {
		return report, err
	}
	report.Copies = int(copies)
	if s.about.Manifest == nil {
		err = s.finish(ctx, calibration)
	}
	return report, err
}

// changing does what one process at a time may do to an index, which need not be there.
func changing(
	ctx context.Context,
	client *cluster.Client,
	index, doing string,
	work func(context.Context) error,
) error {
	return exclusively(ctx, client, index, doing, 0, func(ctx context.Context) error {
		s := &Store{client: client, index: index, concrete: index}
		if _, _, err := s.describe(ctx, manager, cluster.Opening); err != nil && !errors.Is(err, ErrNoIndex) {
			return fmt.Errorf("index %s: %w", index, err)
		}
		return s.withoutShares(ctx, doing, work)
	})
}

// exclusively does work while nobody else changes an index, and waits so long for one who does.
func exclusively(
	ctx context.Context,
	client *cluster.Client,
	index, doing string,
	patience time.Duration,
	work func(context.Context) error,
) error {
	s := &Store{client: client, index: index, concrete: index}
	switch _, about, err := s.describe(ctx, manager, cluster.Opening); {
	case errors.Is(err, ErrNoIndex):
	case err != nil:
		return fmt.Errorf("index %s: %w", index, err)
	default:
		s.about = *about
		if err := cmp.Or(s.MayWrite(ctx), s.MayChange(ctx)); err != nil {
			return err
		}
	}
	return s.holding(ctx, indexLock, doing, patience, work)
}

// Add writes the passages of source. One that is there with the same content and with
// vectors of these experts is left as it is; with another content it is a clash, unless
// Replace says that the new one counts.
//
// Searches see passages as they are written, and not all at once.
func (s *Store) Add(
	ctx context.Context,
	source store.Stream,
	o store.BuildOptions,
) (report store.BuildReport, err error) {
	m := s.current()
	if err := m.CheckAllEncoders(o.Experts); err != nil {
		return report, err
	}
	report.Recall = map[string]store.Recall{}
	for ended := false; !ended; {
		var batch []corpus.Passage
		batch, ended, err = s.readBatch(source, o, &report)
		if err != nil {
			return report, err
		}
		if err := s.addBatch(ctx, m, source.Place(), batch, o, &report); err != nil {
			return report, err
		}
		if o.Progress != nil {
			p := store.Progress{Stage: writing, Unit: "bytes", Passages: int64(report.Passages + report.There)}
			p.Done, p.Total = source.Progress()
			if source.Place().Line == 0 {
				p.Unit = "passages" // of another store, which has no lines
			}
			o.Progress(p)
		}
	}
	if report.Passages+report.There == 0 {
		return report, errNothing
	}
	return report, nil
}

// current returns what passages are written by.
func (s *Store) current() *schema.Manifest { return s.about.Current() }

// readBatch reads the next passages, each id once.
func (s *Store) readBatch(
	source store.Stream,
	o store.BuildOptions,
	report *store.BuildReport,
) (batch []corpus.Passage, ended bool, err error) {
	seen := map[string]bool{}
	for len(batch) < batchPassages {
		p, err := source.Next()
		if err == io.EOF {
			return batch, true, nil
		}
		if err == nil {
			err = p.Check()
			if err != nil {
				err = &corpus.ReadError{Place: source.Place(), Recoverable: true, Err: err}
			}
		}
		if err == nil && seen[p.ID] {
			err = &store.ClashError{ID: p.ID, Place: source.Place(), First: "a passage shortly before"}
		}
		if err != nil {
			if err := skip(err, o, report); err != nil {
				return nil, false, err
			}
			continue
		}
		seen[p.ID] = true
		batch = append(batch, p)
	}
	return batch, false, nil
}

// skip leaves out a passage that cannot be indexed, where that is allowed.
func skip(err error, o store.BuildOptions, report *store.BuildReport) error {
	var read *corpus.ReadError
	var clash *store.ClashError
	if !(errors.As(err, &read) && read.Recoverable || errors.As(err, &clash)) || o.BadPassage == nil {
		return err
	}
	report.Skipped++
	return o.BadPassage(err)
}

// addBatch writes passages of different ids. What another writer changes meanwhile is
// looked at again.
func (s *Store) addBatch(
	ctx context.Context,
	m *schema.Manifest,
	place corpus.Place,
	batch []corpus.Passage,
	o store.BuildOptions,
	report *store.BuildReport,
) error {
	marks := m.Marks()
	ours := map[string]bool{} // sent before, perhaps with success
	last := map[string]int64{}
	for len(batch) > 0 {
		ids := make([]string, len(batch))
		for i := range batch {
			ids[i] = batch[i].ID
		}
		stored, err := s.get(ctx, ids)
		if err != nil {
			return err
		}
		var todo []corpus.Passage
		var operations []operation
		for i, p := range batch {
			op := operation{verb: replacing, id: p.ID, last: last[p.ID]}
			if has := stored[i]; has.Found {
				switch equal := has.Version == p.Version(); {
				case equal && has.HasMarks(marks) && ours[p.ID]:
					report.Passages++
					continue
				case equal && has.HasMarks(marks):
					report.There++
					continue
				case !equal && !o.Replace:
					clash := &store.ClashError{ID: p.ID, Place: place, First: "a passage of index " + s.index}
					if err := skip(clash, o, report); err != nil {
						return err
					}
					continue
				}
				op.seqNo, op.term = has.SeqNo, has.Term
			}
			todo, operations = append(todo, p), append(operations, op)
		}
		if len(todo) == 0 {
			return nil
		}
		if err := s.encode(ctx, m, todo, operations, o); err != nil {
			return err
		}
		results, err := s.bulk(ctx, operations)
		if err != nil {
			return err
		}
		batch = batch[:0:0]
		for i, r := range results {
			switch {
			case r.made():
				report.Passages++
				report.Bytes += int64(len(operations[i].body))
				if !operations[i].absent() {
					report.Replaced++
				}
			case r.conflict():
				ours[todo[i].ID] = ours[todo[i].ID] || r.unsure
				last[todo[i].ID] = r.last
				batch = append(batch, todo[i])
			default:
				return fmt.Errorf("passage %q was refused with status %d: %s", todo[i].ID, r.status, r.why)
			}
		}
	}
	return nil
}

// encode gives operations the documents of passages.
func (s *Store) encode(
	ctx context.Context,
	m *schema.Manifest,
	passages []corpus.Passage,
	operations []operation,
	o store.BuildOptions,
) error {
	vectors, err := store.EncodeTogether(ctx, o.Experts, o.Shared, passages)
	if err != nil {
		return err
	}
	for i := range passages {
		own := schema.Vectors{}
		for name, all := range vectors {
			own[name] = all[i]
		}
		operations[i].body, err = schema.AppendPassage(nil, m, &passages[i], own, schema.ReadMarks(o.Experts, passages[i])...)
		if err != nil {
			return fmt.Errorf("passage %q: %w", passages[i].ID, err)
		}
	}
	return nil
}
