package collection

import (
	"context"

	"conclave/ann"
)

// recallSamples is how many stored vectors a recall is measured on.
const recallSamples = 200

// Recall is how much of what exact search finds an index finds.
type Recall struct {
	// Stored was measured with vectors of the index itself, drawn with the seed.
	Stored ann.Measured `json:"stored"`
	// Questions was measured with vectors of questions, where they were given.
	Questions *ann.Measured `json:"questions,omitempty"`
}

// measure measures the recall of a new index. A segment that is added is
// measured by itself, so that adding to a large collection stays cheap.
func measure(ctx context.Context, ix ann.Index, x expertManifest, o BuildOptions, r *reporter) (Recall, error) {
	if x.Index.Kind == ann.Flat || x.Index.Kind == ann.Late { // they compare with every passage
		return Recall{Stored: ann.Measured{At10: 1, At100: 1}}, nil
	}
	questions := o.Questions[x.Name]
	stored, total := min(recallSamples, ix.Len()), min(recallSamples, ix.Len())+len(questions)
	tell := func(done int) {
		r.report(Progress{Stage: Measuring, Expert: x.Name, Done: int64(done), Total: int64(total), Unit: "searches"})
	}
	tell(0)
	var out Recall
	var err error
	if out.Stored, err = ann.RecallOfStored(ctx, ix, stored, x.Index.Seed); err != nil {
		return out, err
	}
	if len(questions) > 0 {
		tell(stored)
		m, err := ann.RecallOf(ctx, ix, questions)
		if err != nil {
			return out, err
		}
		out.Questions = &m
	}
	tell(total)
	return out, nil
}

// joined is the recall over all segments: the mean, weighted by passages. It
// is an estimate; a search over several segments looks as widely in each as in
// one, so it finds more rather than less.
func joined(segments []segmentManifest, expert string) Recall {
	var out Recall
	var stored, questions weightedRecall
	for i := range segments {
		r := segments[i].expert(expert).Recall
		stored.add(r.Stored, segments[i].Passages)
		if r.Questions != nil {
			questions.add(*r.Questions, segments[i].Passages)
		}
	}
	out.Stored = stored.mean()
	if questions.weight > 0 {
		m := questions.mean()
		out.Questions = &m
	}
	return out
}

type weightedRecall struct {
	sum    ann.Measured
	weight float64
}

func (w *weightedRecall) add(m ann.Measured, passages int) {
	weight := float64(passages)
	w.sum.Queries += m.Queries
	w.sum.At10 += weight * m.At10
	w.sum.At100 += weight * m.At100
	w.weight += weight
}

func (w *weightedRecall) mean() ann.Measured {
	if w.weight == 0 {
		return ann.Measured{At10: 1, At100: 1}
	}
	return ann.Measured{Queries: w.sum.Queries, At10: w.sum.At10 / w.weight, At100: w.sum.At100 / w.weight}
}
