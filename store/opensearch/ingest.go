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

// errNothing is what Add returns for a source without passages.
var errNothing = errors.New("there was no passage to index")

// Build makes an index of the passages of source, or goes on with one that an interrupted Build began: passages that
// have their vectors are not encoded again. The manifest is written last, with the text of the calibration; until
// then Open refuses the index. What was written stays if Build fails. It fails with a *lease.HeldError if another
// process fills the index, or adds or removes an expert. In an index that is complete it adds the passages.
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
	err = changeIndex(ctx, client, index, "indexing", func(ctx context.Context) (err error) {
		report, err = build(ctx, client, index, shape, source, o, calibration)
		return err
	})
	return report, err
}

// build makes an index of the passages of source, or adds them to the one that is there, and publishes the manifest
// of a new one. The caller holds the lease of the index. If it fails, what was written stays. calibration is the text
// that a new manifest gets.
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
		err = s.publishManifest(ctx, calibration)
	}
	return report, err
}

// changeIndex calls work while no other process indexes, fills a share, or adds or removes an expert of the index,
// which need not be there. If one does, it returns a *lease.HeldError. doing says for others what work does.
func changeIndex(
	ctx context.Context,
	client *cluster.Client,
	index, doing string,
	work func(context.Context) error,
) error {
	return changeExclusively(ctx, client, index, doing, 0, func(ctx context.Context) error {
		s := &Store{client: client, index: index, concrete: index}
		if _, _, err := s.describe(ctx, manager, cluster.Opening); err != nil && !errors.Is(err, ErrNoIndex) {
			return fmt.Errorf("index %s: %w", index, err)
		}
		return s.whileNoShares(ctx, doing, work)
	})
}

// changeExclusively calls work while this process has the lease of the index, after it made sure that it may write.
// It waits for another holder for patience, then returns a *lease.HeldError. doing says for others what work does.
func changeExclusively(
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
	return s.withLease(ctx, indexLock, doing, patience, work)
}

// Add writes the passages of source. A passage that is there with the same content and the vectors of these experts
// stays as it is. One with another content is a *store.ClashError, unless o.Replace is set: then it is replaced.
// Searches see passages as they are written, not all at once.
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

// current returns the manifest by which passages are written: the plan of what is being made, else the manifest.
func (s *Store) current() *schema.Manifest { return s.about.Current() }

// readBatch returns the next passages of source, at most batchPassages; ended is true after the last. A passage that is
// invalid, or whose id the batch has already, is left out and counted in report if o.BadPassage allows that
// (skipPassage); otherwise readBatch fails. It also fails if source does.
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
			if err := skipPassage(err, o, report); err != nil {
				return nil, false, err
			}
			continue
		}
		seen[p.ID] = true
		batch = append(batch, p)
	}
	return batch, false, nil
}

// skipPassage decides whether indexing goes on after an error of one passage. If err concerns a single passage and
// o.BadPassage is set, it counts the passage in report as skipped and returns what BadPassage returns: nil to go on.
// Otherwise it returns err.
func skipPassage(err error, o store.BuildOptions, report *store.BuildReport) error {
	var read *corpus.ReadError
	var clash *store.ClashError
	if !(errors.As(err, &read) && read.Recoverable || errors.As(err, &clash)) || o.BadPassage == nil {
		return err
	}
	report.Skipped++
	return o.BadPassage(err)
}

// addBatch encodes and writes passages of different ids, but those that are there with the same content and vectors. A
// passage that another writer changes meanwhile is looked at again. It fails with a *store.ClashError for another
// content under an id, unless o.Replace or o.BadPassage allows that.
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
		stored, err := s.getStored(ctx, ids)
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
					clash := &store.ClashError{ID: p.ID, Place: place, First: "a passage of index " + s.index, Stored: true}
					if err := skipPassage(clash, o, report); err != nil {
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
		if err := s.encodeOperations(ctx, m, todo, operations, o); err != nil {
			return err
		}
		results, err := s.writeBulk(ctx, operations)
		if err != nil {
			return err
		}
		batch = batch[:0:0]
		for i, r := range results {
			switch {
			case r.succeeded():
				report.Passages++
				report.Bytes += int64(len(operations[i].body))
				if !operations[i].createsDocument() {
					report.Replaced++
				}
			case r.conflicted():
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

// encodeOperations encodes passages and sets the document of each as the body of the operation with the same number.
// It fails if an encoder does or a passage cannot be encoded.
func (s *Store) encodeOperations(
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
