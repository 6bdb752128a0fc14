package folder

import (
	"context"

	"example.org/conclave/ann"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// recallSamples is how many stored vectors a recall is measured on.
const recallSamples = 200

// measure returns the recall of the index of one segment, on a sample of up to recallSamples of its vectors. It is 1,
// unmeasured, for kinds of index that leave out no passage. Each segment is measured by itself, so that adding to a
// large collection stays cheap. It fails if a search does or ctx ends.
func measure(ctx context.Context, ix ann.Index, x manifest.Expert, r *reporter) (out store.Recall, err error) {
	switch x.Index.Kind {
	case ann.Flat, ann.Late, ann.Sparse: // they leave out no passage
		return store.Recall{Stored: ann.MeasuredRecall{At10: 1, At100: 1}}, nil
	}
	n := min(recallSamples, ix.Len())
	tell := func(done int) {
		r.report(store.Progress{Stage: store.Measuring, Expert: x.Name, Done: int64(done), Total: int64(n), Unit: "searches"})
	}
	tell(0)
	out.Stored, err = ann.RecallOfStored(ctx, ix, n, x.Index.Seed)
	if err == nil {
		tell(n)
	}
	return out, err
}

// joined returns the recall of an expert over all segments: the mean of theirs, weighted by passages; 1 if there are
// none. It is an estimate: a search over several segments looks as widely in each as in one, so it finds more rather
// than less. It panics if the expert has no vectors in one of the segments.
func joined(segments []manifest.Segment, expert string) store.Recall {
	var sum ann.MeasuredRecall
	weight := 0.0
	for i := range segments {
		r := segments[i].Expert(expert).Recall.Stored
		passages := float64(segments[i].Passages)
		sum.Queries += r.Queries
		sum.At10 += passages * r.At10
		sum.At100 += passages * r.At100
		weight += passages
	}
	if weight == 0 {
		return store.Recall{Stored: ann.MeasuredRecall{At10: 1, At100: 1}}
	}
	stored := ann.MeasuredRecall{Queries: sum.Queries, At10: sum.At10 / weight, At100: sum.At100 / weight}
	return store.Recall{Stored: stored}
}
