package calibration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/extract"
)

// rerankedDepth is how many passages of an answer a reranker scores for a fit: as many as a
// search lets it score by default.
const rerankedDepth = 20

// RerankingFit is the weight of a reranker's scores against the gate's, with its figures on held-out questions.
type RerankingFit struct {
	Reranker  string `yaml:"reranker" json:"reranker"` // its fingerprint
	Name      string `yaml:"name" json:"name"`         // for people
	Questions int    `yaml:"questions" json:"questions"`
	// Weight is that of learned.LoadedReranker; 0: the gate is better alone.
	Weight float64 `yaml:"weight" json:"weight"`
	// Top1 is how often the first passage answers, and MRR the mean reciprocal rank of the first
	// that answers among the first ten, each domain counting the same, from 0 to 1.
	Top1        float64 `yaml:"top1" json:"top1"`
	MRR         float64 `yaml:"mrr" json:"mrr"`
	WithoutTop1 float64 `yaml:"without_top1" json:"without_top1"`
	WithoutMRR  float64 `yaml:"without_mrr" json:"without_mrr"`
	// First is the confidence of the passage that both put first, from extract.RerankSignals, over questions with an
	// answer and as many without one; nil: the reranker has no part in the ranking. The others are those of the
	// confidence of the ranking's own first passage.
	First        *MarkedChance `yaml:"first,omitempty" json:"first,omitempty"`
	WithoutECE   float64       `yaml:"without_ece" json:"without_ece"`
	WithoutAUROC float64       `yaml:"without_auroc" json:"without_auroc"`
}

// RerankingOptions are the options of FitReranking.
type RerankingOptions struct {
	Reranker, Name string // its fingerprint, and its name
	// Score returns the reranker's logits of passages for a question.
	Score    func(ctx context.Context, q *Question, passages []rank.Ordinal) ([]float64, error)
	Progress func(done, total int)
}

// Check returns an error if there is no fingerprint, the weight is not from 0 to fusion.MaxWeight, or the confidence is
// invalid or has other signals than this version of conclave computes.
func (r *RerankingFit) Check() error {
	switch {
	case r.Reranker == "":
		return errors.New("reranker: a fingerprint is needed")
	case !(r.Weight >= 0 && r.Weight <= fusion.MaxWeight):
		return fmt.Errorf("weight: %v is not between 0 and %g", r.Weight, float64(fusion.MaxWeight))
	case r.First != nil:
		return r.First.checkSignals("first", extract.RerankSignals())
	}
	return nil
}

// Surer reports whether the confidence that takes the reranker into account is to be used: it has been fitted, and its
// calibration error or its AUROC is no worse than without.
func (r *RerankingFit) Surer() bool {
	return r.First != nil && (r.First.ECE <= r.WithoutECE || r.First.AUROC >= r.WithoutAUROC)
}

// judgedQuestion is a question's first passages with the scores of the gate and of the reranker.
type judgedQuestion struct {
	answer       *RankedQuestion
	question     *Question
	passages     []rank.Hit
	logits       []float64
	scores, sums []float64 // those of the passages; scratch
}

// FitReranking lets a reranker score the first passages of answers, and returns the weight of its scores under which
// the first passage that answers stands highest, measured by folds, and the confidence of the first passage by both.
// confidences are the answers' without the reranker. The answers may include those to the same questions without the
// passages that answer, and to unanswerable ones. The weight is 0, without a confidence, if the reranker does not
// improve the mean reciprocal rank on other folds. It fails if scoring or a fit does, or ctx ends.
func FitReranking(
	ctx context.Context,
	answers []RankedQuestion,
	confidences []float64,
	o RerankingOptions,
) (*RerankingFit, error) {
	every, err := o.judgeAll(ctx, answers)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(slices.Clone(every), func(j judgedQuestion) bool { return j.answer.Without != Answerable })
	out := &RerankingFit{Reranker: o.Reranker, Name: o.Name, Questions: len(all)}
	weights := rerankingWeights(all)
	out.WithoutTop1, out.WithoutMRR = rerankedWorth(all, func(*judgedQuestion) float64 { return 0 })
	byFold := make([]float64, Folds)
	for fold := range byFold {
		byFold[fold] = bestWeight(weights, slices.DeleteFunc(slices.Clone(all), func(j judgedQuestion) bool {
			return foldOf(j.question.ID) == fold
		}))
	}
	out.Top1, out.MRR = rerankedWorth(all, func(j *judgedQuestion) float64 { return byFold[foldOf(j.question.ID)] })
	out.Weight = bestWeight(weights, all)
	if out.MRR <= out.WithoutMRR { // such a reranker is no judge of these passages
		out.Weight, out.Top1, out.MRR = 0, out.WithoutTop1, out.WithoutMRR
		return out, nil
	}
	return out, out.fitFirst(every, confidences)
}

// fitFirst sets r.First to the chance that the passage ranked first by gate and reranker together answers. It is fitted
// to the questions that the reranker has scored. confidences holds, per question, the confidence of the gate alone;
// r.WithoutECE and r.WithoutAUROC become their calibration error and AUROC over the same questions. An AUROC that is
// undefined, as all answers are right or all wrong, leaves r.WithoutAUROC as it is. It fails if the fit does, for
// instance without scored questions.
func (r *RerankingFit) fitFirst(every []judgedQuestion, confidences []float64) error {
	var first []RankedQuestion
	var before []Outcome
	answers := make([]RankedQuestion, len(every))
	for i := range every {
		answers[i] = *every[i].answer
	}
	for i, a := range withMixtureWeights(answers) {
		j := &every[i]
		if len(j.logits) == 0 {
			continue
		}
		top, signals := extract.RerankedSignals(j.scores, j.logits, r.Weight, confidences[i])
		q := RankedQuestion{ID: a.ID, Signals: signals, Without: a.Without, Weight: a.Weight}
		if j.question.Relevant[j.passages[top].Ordinal] > 0 {
			q.First = 1
		}
		first = append(first, q)
		before = append(before, Outcome{confidences[i], a.First == 1, a.Weight})
	}
	fit, _, err := fitMarked(extract.RerankSignals(), first, nil)
	if err != nil {
		return fmt.Errorf("the confidence of what was reranked: %w", err)
	}
	r.First = &fit
	alone := Summarise(before)
	r.WithoutECE = alone.ECE
	if alone.AUROC != nil {
		r.WithoutAUROC = *alone.AUROC
	}
	return nil
}

// judgeAll returns the answers with the reranker's scores. It scores each passage once for all answers to a question,
// by its ID. It fails if the reranker does or ctx ends.
func (o *RerankingOptions) judgeAll(ctx context.Context, answers []RankedQuestion) ([]judgedQuestion, error) {
	var order []string
	places := map[string][]int{} // of a question's answers
	for i, a := range answers {
		if places[a.ID] == nil {
			order = append(order, a.ID)
		}
		places[a.ID] = append(places[a.ID], i)
	}
	every := make([]judgedQuestion, len(answers))
	err := atOnce(ctx, readers, len(order), o.Progress, func(ctx context.Context, n int) error {
		together := places[order[n]]
		logits, err := o.scorePassages(ctx, answers, together)
		if err != nil {
			return fmt.Errorf("scoring passages for question %s: %w", order[n], err)
		}
		for _, at := range together {
			a := &answers[at]
			j := judgedQuestion{
				answer: a, question: a.Asked, passages: a.Passages, sums: make([]float64, len(a.Passages)),
			}
			for _, p := range a.Passages {
				j.scores = append(j.scores, float64(p.Score))
				j.logits = append(j.logits, logits[p.Ordinal])
			}
			every[at] = j
		}
		return nil
	})
	return every, err
}

// scorePassages returns the reranker's scores of all passages of the answers at these indexes, which are all to one
// question. It fails if the reranker does or gives another number of scores.
func (o *RerankingOptions) scorePassages(
	ctx context.Context,
	answers []RankedQuestion,
	indexes []int,
) (map[rank.Ordinal]float64, error) {
	logits := map[rank.Ordinal]float64{}
	var ordinals []rank.Ordinal
	for _, at := range indexes {
		for _, p := range answers[at].Passages {
			if _, again := logits[p.Ordinal]; !again {
				logits[p.Ordinal] = 0
				ordinals = append(ordinals, p.Ordinal)
			}
		}
	}
	if len(ordinals) == 0 {
		return logits, nil
	}
	scores, err := o.Score(ctx, answers[indexes[0]].Asked, ordinals)
	if err == nil && len(scores) != len(ordinals) {
		err = fmt.Errorf("%d scores of %d passages", len(scores), len(ordinals))
	}
	if err != nil {
		return nil, err
	}
	for i, p := range ordinals {
		logits[p] = scores[i]
	}
	return logits, nil
}

// firstAnswering returns the rank, from 1, of the first passage that answers, by the gate's scores plus weight times
// the reranker's; 0: none does.
func (j *judgedQuestion) firstAnswering(weight float64) int {
	for i := range j.sums {
		j.sums[i] = j.scores[i] + weight*j.logits[i]
	}
	best := math.Inf(-1)
	at := -1
	for i, p := range j.passages {
		if j.question.Relevant[p.Ordinal] > 0 && j.sums[i] > best {
			best = j.sums[i]
			at = i
		}
	}
	if at < 0 {
		return 0
	}
	place := 1
	for i, s := range j.sums {
		if s > best || s == best && i < at {
			place++
		}
	}
	return place
}

// rerankingWeights returns the weights that are tried: those under which the reranker's scores vary from an eighth to
// eight times as much as the gate's over a question's passages. It returns only 0 if either does not vary.
func rerankingWeights(all []judgedQuestion) (weights []float64) {
	gate, own := 0.0, 0.0
	for i := range all {
		if len(all[i].logits) > 1 {
			gate += stat.PopStdDev(all[i].scores, nil)
			own += stat.PopStdDev(all[i].logits, nil)
		}
	}
	if gate == 0 || own == 0 {
		return []float64{0}
	}
	for share := 1. / 8; share <= 8; share *= math.Sqrt2 {
		weights = append(weights, share*gate/own)
	}
	return weights
}

// bestWeight returns the weight with the largest mean reciprocal rank; of equal ones the first.
func bestWeight(weights []float64, all []judgedQuestion) (best float64) {
	most := -1.0
	for _, w := range weights {
		if _, mrr := rerankedWorth(all, func(*judgedQuestion) float64 { return w }); mrr > most {
			best, most = w, mrr
		}
	}
	return best
}

// rerankedWorth returns the top-1 accuracy and the mean reciprocal rank of questions that are each ranked with its
// weight.
func rerankedWorth(all []judgedQuestion, weight func(*judgedQuestion) float64) (top1, mrr float64) {
	type sums struct{ n, first, reciprocal float64 }
	domains := map[string]*sums{}
	for i := range all {
		j := &all[i]
		s := domains[j.question.Domain]
		if s == nil {
			s = new(sums)
			domains[j.question.Domain] = s
		}
		s.n++
		switch place := j.firstAnswering(weight(j)); {
		case place == 1:
			s.first++
			s.reciprocal++
		case place > 0 && place <= 10:
			s.reciprocal += 1 / float64(place)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(domains)) {
		s := domains[name]
		top1 += s.first / s.n / float64(len(domains))
		mrr += s.reciprocal / s.n / float64(len(domains))
	}
	return top1, mrr
}

// WriteText writes for people how often the first passage answers with and without the reranker, the mean reciprocal
// rank, and the errors of the confidence. It returns the first error of out.
func (r *RerankingFit) WriteText(out io.Writer) error {
	_, err := fmt.Fprintf(
		out,
		"with the reranker %s over the first %d passages of %s: the first passage answers %.1f of 100 (without it %.1f),\nmean reciprocal rank %.3f (%.3f)\n",
		r.Name,
		rerankedDepth,
		questionsOf(r.Questions),
		100*r.Top1,
		100*r.WithoutTop1,
		r.MRR,
		r.WithoutMRR,
	)
	if r.Weight == 0 && err == nil {
		_, err = fmt.Fprintln(out, "So it has no part in the ranking.")
	}
	if r.First != nil && err == nil {
		_, err = fmt.Fprintf(out, "confidence of the passage that is first with it: ECE %.3f, AUROC %.3f (without it %.3f, %.3f)\n",
			r.First.ECE, r.First.AUROC, r.WithoutECE, r.WithoutAUROC)
	}
	return err
}
