package calibration

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"example.org/conclave/internal/rank"
	"example.org/conclave/search/extract"
)

// markedDepth is how many passages of an answer a reader reads for a fit.
const markedDepth = 5

// RankedPassages are the first passages of an answer, and its confidence without a reader.
type RankedPassages struct {
	Passages   []rank.Hit
	Confidence float64
}

// Mark is a reader's output for an answer's passages.
type Mark struct {
	Top   int       // which of them is the first by ranking and reader
	Right bool      // the likeliest words are those that answer
	Words []float64 // extract.AnswerSignals of these; nil: it marked none
	First []float64 // extract.ReadSignals; nil: there are no passages
	// RerankedTop and Reranked are the same where the reader only scores the passages within reach
	// (extract.WithinReach): which of them is first, and extract.RerankSignals. Reranked is nil if no other passage
	// than the ranking's first is within reach, or the two are not combined.
	RerankedTop int
	Reranked    []float64
}

// firstBy returns which passage is first and the signals on whether it answers: by a reader that read all passages, or
// if reranked by one that scored those within reach. signals are nil if there are none.
func (m *Mark) firstBy(reranked bool) (top int, signals []float64) {
	if reranked {
		return m.RerankedTop, m.Reranked
	}
	return m.Top, m.First
}

// Marker lets a reader read the passages of several answers to a question. It returns one function for each answer,
// which gives the reader's output when the ranking's scores are added to the reader's with a weight
// (extract.Read.Weigh); with weight 0 the two are not combined.
type Marker func(ctx context.Context, q *Question, answers []RankedPassages) ([]func(weight float64) Mark, error)

// rankingWeights returns the weights of the ranking, against the reader, that are tried.
func rankingWeights() []float64 { return []float64{2, 5, 10, 20, 50, 100} }

// readers is how many questions are read for at once: the reader forms batches of their
// passages.
const readers = 4

// ReadingOptions are the options of FitReading.
type ReadingOptions struct {
	Mark   Marker
	Reader string // its fingerprint
	// Towards is what few questions leave as it is; nil: there is none.
	Towards *ReadingFit
	// Verdict is how verdicts are reached where the reader reads; nil: not known.
	Verdict *VerdictFit
	// ByDomain measures on questions of domains that were not fitted on, in place of
	// other questions.
	ByDomain bool
	Progress func(done, total int)
}

// FitReading lets a reader read the passages of answers, and fits chances to its output. confidences are the answers'
// without the reader. Answers to one question, by its ID, are read together. The answers to questions that have one
// count as much as all others together. It fails if the reader or a fit does, or ctx ends.
func FitReading(
	ctx context.Context,
	answers []RankedQuestion,
	confidences []float64,
	o ReadingOptions,
) (*ReadingFit, error) {
	marks, err := o.readAnswers(ctx, answers, confidences)
	if err != nil {
		return nil, err
	}
	return o.fitMarks(withMixtureWeights(answers), confidences, marks)
}

// readAnswers returns for each answer a function that gives the reader's output for a weight of the ranking (Marker).
// Answers to one question, by its ID, are read together. It fails if the reader does or ctx ends.
func (o *ReadingOptions) readAnswers(
	ctx context.Context,
	answers []RankedQuestion,
	confidences []float64,
) ([]func(float64) Mark, error) {
	var order []string
	places := map[string][]int{} // of a question's answers
	for i, a := range answers {
		if places[a.ID] == nil {
			order = append(order, a.ID)
		}
		places[a.ID] = append(places[a.ID], i)
	}
	marks := make([]func(float64) Mark, len(answers))
	err := atOnce(ctx, readers, len(order), o.Progress, func(ctx context.Context, n int) error {
		id := order[n]
		var asked []RankedPassages
		for _, at := range places[id] {
			asked = append(asked, RankedPassages{answers[at].markedPassages(), confidences[at]})
		}
		marksOf, err := o.Mark(ctx, answers[places[id][0]].Asked, asked)
		if err != nil {
			return fmt.Errorf("reading for question %s: %w", id, err)
		}
		for n, at := range places[id] {
			marks[at] = marksOf[n]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return marks, nil
}

// markedPassages returns the passages that a reader reads: the first markedDepth.
func (q *RankedQuestion) markedPassages() []rank.Hit {
	return q.Passages[:min(markedDepth, len(q.Passages))]
}

// firstAnswers reports whether the passage that ranking and reader together put first (m.Top) answers the question;
// false if the reader read no passage.
func (q *RankedQuestion) firstAnswers(m *Mark) bool {
	return m.First != nil && q.answersAt(m.Top)
}

// answersAt reports whether the passage at an index of q.Passages answers.
func (q *RankedQuestion) answersAt(at int) bool {
	return q.Asked.Relevant[q.Passages[at].Ordinal] > 0
}

// bestRankingWeight returns which of the weights of the ranking makes the first passage answer most questions, where
// each domain counts the same. heldOut is the share of questions answered when each domain is ranked by the weight that
// is best on the other domains, and without the share of the ranking alone. Only answerable questions count.
func bestRankingWeight(
	weights []float64, answers []RankedQuestion, marks []func(float64) Mark,
) (weight, heldOut, without float64) {
	n := map[string]float64{}
	right := map[float64]map[string]float64{}
	alone := map[string]float64{}
	for _, w := range weights {
		right[w] = map[string]float64{}
	}
	for i := range answers {
		a := &answers[i]
		if a.Without != Answerable {
			continue
		}
		domain := a.Asked.Domain
		if n[domain]++; a.First == 1 {
			alone[domain]++
		}
		for w, by := range right {
			if m := marks[i](w); a.firstAnswers(&m) {
				by[domain]++
			}
		}
	}
	best := func(but string) (weight float64) {
		most := -1.0
		for _, w := range weights {
			sum := 0.0
			for _, domain := range slices.Sorted(maps.Keys(n)) {
				if domain != but || len(n) == 1 {
					sum += right[w][domain] / n[domain]
				}
			}
			if sum > most {
				weight, most = w, sum
			}
		}
		return weight
	}
	for domain, all := range n {
		heldOut += right[best(domain)][domain] / all / float64(len(n))
		without += alone[domain] / all / float64(len(n))
	}
	return best(""), heldOut, without
}

// isWorse reports whether the reader makes the first passage of answerable questions worse: it is right more often
// without the reader than with it and this weight, by more than two standard errors.
func isWorse(weight float64, answers []RankedQuestion, marks []func(float64) Mark) bool {
	lost, changed := 0.0, 0.0
	for i := range answers {
		if a := &answers[i]; a.Without == Answerable {
			m := marks[i](weight)
			if alone := a.First == 1; alone != a.firstAnswers(&m) {
				changed++
				lost += 2*Outcome{Correct: alone}.correctValue() - 1
			}
		}
	}
	return lost > 2*math.Sqrt(changed)
}

// spreadOf returns ReadingFit.Spread: the standard deviation of the scores that a ranking gives the passages a reader
// reads, averaged over answerable questions with at least two of them; 1 if there are none or no scores differ.
func spreadOf(answers []RankedQuestion) float64 {
	sum, n := 0.0, 0.0
	for _, a := range answers {
		if a.Without != Answerable || len(a.Passages) < 2 {
			continue
		}
		passages := a.markedPassages()
		scores := make([]float64, len(passages))
		for i, p := range passages {
			scores[i] = float64(p.Score)
		}
		sum, n = sum+stat.PopStdDev(scores, nil), n+1
	}
	if sum == 0 {
		return 1
	}
	return sum / n
}

// fitMarks fits the weight and the chances to a reader's output (marks). The weight is 0 if the reader does not improve
// the first passages. With o.Towards it takes that fit's weight, on the scale of these answers, and pulls the chances
// to that fit's. Judged answers count for the confidence alone, and are not measured. It fails if a fit does.
func (o *ReadingOptions) fitMarks(
	answers []RankedQuestion,
	confidences []float64,
	marks []func(float64) Mark,
) (*ReadingFit, error) {
	out := &ReadingFit{Reader: o.Reader, Spread: spreadOf(answers)}
	var priorWords, priorFirst *Logistic
	weights := rankingWeights()
	if o.Towards != nil {
		weights = []float64{o.Towards.Ranking * o.Towards.Spread / out.Spread}
		priorWords, priorFirst = &o.Towards.Words.Chance.Logistic, &o.Towards.First.Chance.Logistic
	}
	out.Ranking, out.Top1, out.WithoutTop1 = bestRankingWeight(weights, answers, marks)
	if o.Towards == nil && out.Top1 <= out.WithoutTop1 || o.Towards != nil && isWorse(out.Ranking, answers, marks) {
		out.Ranking = 0
		out.Top1 = out.WithoutTop1 // such a reader is no judge of passages
	}
	var words, first, judged []RankedQuestion
	var before []Outcome
	var verdict verdictChances
	for i := range answers {
		a := &answers[i]
		m := marks[i](out.Ranking)
		id := a.ID
		if o.ByDomain {
			id = a.Asked.Domain
		}
		if a.Without == Answerable {
			out.Questions++
		}
		as := func(signals []float64, right bool) (q RankedQuestion) {
			q = RankedQuestion{ID: id, Signals: signals, Without: a.Without, Weight: a.Weight}
			if right {
				q.First = 1
			}
			return q
		}
		if a.Without == Judged {
			if m.First != nil {
				judged = append(judged, as(m.First, false))
			}
			continue
		}
		// Of a question with an answer in words that nobody wrote down, none can be said to be wrong.
		if m.Words != nil && (len(a.Asked.Answers) > 0 || a.Without == Unanswerable) {
			words = append(words, as(m.Words, m.Right))
		}
		if m.First != nil {
			if err := verdict.add(o.Verdict, o.Reader, a, m.First); err != nil {
				return nil, err
			}
			first = append(first, as(m.First, a.firstAnswers(&m)))
			before = append(before, Outcome{confidences[i], a.First == 1, a.Weight})
		}
	}
	var err error
	if read := o.Verdict.For(o.Reader); read != nil {
		out.Verdict = verdict.ownThresholds(&read.Answerable)
		judged, err = splitJudged(judged, &read.First.Chance.Logistic)
		if err != nil {
			return nil, err
		}
		first = append(first, judged...) // last, since they are not measured
	}
	out.Words, _, err = fitMarked(extract.AnswerSignals(), words, priorWords)
	if err != nil {
		return nil, fmt.Errorf("the chance that marked words are right: %w", err)
	}
	var sure []Outcome
	out.First, sure, err = fitMarked(extract.ReadSignals(), first, priorFirst)
	if err != nil {
		return nil, fmt.Errorf("the confidence of what was read: %w", err)
	}
	by := map[Without][]Outcome{}
	for i, o := range sure { // of the first of these, in their order
		by[first[i].Without] = append(by[first[i].Without], o)
	}
	out.Thresholds = thresholdsFor(by[Answerable], by[TakenOut], by[Unanswerable])
	out.TakenOut = halfOf(by[Answerable], by[TakenOut])
	if u := by[Unanswerable]; len(u) > 0 {
		half := halfOf(by[Answerable], u)
		out.Unanswerable = &half
	}
	alone := Summarise(before)
	out.WithoutECE = alone.ECE
	if alone.AUROC != nil {
		out.WithoutAUROC = *alone.AUROC
	}
	return out, nil
}

// fitMarked fits the chance that the first passage answers to the questions' signals, about a prior (nil: none). It
// returns it with its ECE and AUROC on held-out questions, and their outcomes. The AUROC is 0 if all outcomes are the
// same. It fails if there are no questions or a signal is not a number.
func fitMarked(names []string, questions []RankedQuestion, prior *Logistic) (MarkedChance, []Outcome, error) {
	fit, err := FitConfidence(names, questions, 1, prior)
	out := MarkedChance{ECE: fit.HeldOut.ECE, Chance: fit.Confidence}
	if a := fit.HeldOut.AUROC; a != nil {
		out.AUROC = *a
	}
	return out, fit.Outcomes, err
}
