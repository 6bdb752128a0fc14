package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/sources"
)

// RerankOptions ask a reranker to score the first passages of the ranking. In JSON they are
// true, false or an object; the zero value leaves it to Defaults.Rerank.
type RerankOptions struct {
	Asked    bool // the request says something
	Wanted   bool
	Model    string // "": the first
	Passages int    // how many are scored, from the first; 0: 20
}

// rerankObject is RerankOptions as an object.
type rerankObject struct {
	Model    string `json:"model,omitempty"`
	Passages int    `json:"passages,omitempty"`
}

// MarshalJSON writes true where nothing is chosen.
func (o RerankOptions) MarshalJSON() ([]byte, error) {
	object := rerankObject{o.Model, o.Passages}
	if !o.Wanted || object == (rerankObject{}) {
		return json.Marshal(o.Wanted)
	}
	return json.Marshal(object)
}

// UnmarshalJSON reads true, false or an object; null is as if nothing was said.
func (o *RerankOptions) UnmarshalJSON(data []byte) error {
	*o = RerankOptions{}
	if string(data) == "null" {
		return nil
	}
	o.Asked = true
	if json.Unmarshal(data, &o.Wanted) == nil {
		return nil
	}
	var object rerankObject
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	*o = RerankOptions{true, true, object.Model, object.Passages}
	return nil
}

// OriginRerank is the origin of a contribution that a reranker made.
const OriginRerank = "rerank"

const usuallyReranked = 20 // passages, where a request does not say

// Reranker scores passages for a question.
type Reranker interface {
	// Score returns a Relevance for each passage, in their order.
	Score(ctx context.Context, question string, passages []corpus.Passage) ([]Relevance, error)
	// KnownWords is that of a QuestionEncoder.
	KnownWords(text string) (words, whole, unknown int)
}

// Relevance is what a reranker says of one passage.
type Relevance struct {
	Score float64 // a logit, the larger the better the passage answers
	Cut   bool    // question and passage were too long to be read to the end
}

// LoadedReranker is a Reranker with its name.
type LoadedReranker struct {
	Reranker
	Name string // unique among rerankers
	Info RerankerInfo
	// Reads says that it is the reader of this name, which reranks by its selection: then that counts once.
	Reads bool
	// Weight is what its scores count beside the gate's, fitted for it: 0 where the gate is
	// better alone. Nil: nobody fitted it, and both vary equally over the passages.
	Weight *float64
	// Confidence turns RerankSignals into the probability that the first passage answers, where the gate ranks
	// and Weight was fitted; nil: it is estimated (rerankChance).
	Confidence sources.Chance
}

// RerankerInfo describes a loaded reranker.
type RerankerInfo struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"`
	Provider    string `json:"provider"`
	Precision   string `json:"precision"`
	MaxTokens   int    `json:"max_tokens"` // of question and passage together
	Calibrated  bool   `json:"calibrated"`
}

// Judgements lets a reranker, by name, score stored passages for a question, in the order of
// their ids. It is for measuring.
func (e *Engine) Judgements(
	ctx context.Context,
	reranker, question string,
	ids []string,
) (scores []float64, err error) {
	l, err := e.begin()
	if err != nil {
		return nil, err
	}
	defer l.panel.Users.Leave()
	var wrong fault.Problems
	x := l.rerankerFor(reranker, &wrong)
	if err := wrong.Err(); err != nil {
		return nil, err
	}
	passages := make([]corpus.Passage, len(ids))
	for i, id := range ids {
		passages[i], _, err = e.Passage(ctx, id)
		if err != nil {
			return nil, err
		}
	}
	var said []Relevance
	err = run.Guard(func() error { said, err = x.Score(ctx, question, passages); return err })
	for _, s := range said {
		scores = append(scores, s.Score)
	}
	return scores, err
}

// planRerank checks what is asked of a reranker and fills in the defaults. What the
// configuration asks for does not apply where there are several rankings.
func (l *lineUp) planRerank(r *Request, p *plan, wrong *fault.Problems) {
	o := r.Rerank
	if !o.Asked {
		o.Wanted = l.defaults.Rerank && !p.listed && len(l.rerankers) > 0
	}
	if !o.Wanted {
		return
	}
	if p.listed {
		wrong.Add(
			"not_one_ranking",
			"/rerank",
			"one ranking is reranked, and fusion is a list of methods: name one method, or leave out rerank",
		)
	}
	p.reranker = l.rerankerFor(o.Model, wrong)
	p.reranked = wrong.Count("/rerank/passages", o.Passages, usuallyReranked, MostRead)
	if p.reranker != nil && p.weighs(p.reranker) && *p.reranker.Weight == 0 {
		p.useless = p.reranker
		p.reranker = nil
		p.reranked = 0
	}
	p.inquiry.Reranks = p.reranker != nil
}

// weighs reports whether what was fitted for a reranker belongs to the ranking.
func (p *plan) weighs(x *LoadedReranker) bool {
	return x.Weight != nil && len(p.methods) > 0 && p.methods[0].WeighsByQuestion()
}

// rerankerFor returns the reranker of a name, or the first if the name is empty.
func (l *lineUp) rerankerFor(name string, wrong *fault.Problems) *LoadedReranker {
	if len(l.rerankers) == 0 {
		wrong.Add("needs_reranker", "/rerank", "passages are scored by a reranker, and none is loaded")
		return nil
	}
	if x := l.rerankerNamed(cmp.Or(name, l.rerankers[0].Name)); x != nil {
		return x
	}
	names := make([]string, len(l.rerankers))
	for i := range l.rerankers {
		names[i] = l.rerankers[i].Name
	}
	wrong.Add(
		"unknown_reranker",
		"/rerank/model",
		"there is no reranker %s: the rerankers are %s",
		wording.Quote(name),
		wording.List(names),
	)
	return nil
}

// rerankerNamed returns the reranker of a name; nil: there is none.
func (l *lineUp) rerankerNamed(name string) *LoadedReranker {
	for i := range l.rerankers {
		if l.rerankers[i].Name == name {
			return &l.rerankers[i]
		}
	}
	return nil
}

// window returns how many of the first items of a ranking are reranked: none where the page that
// is answered lies behind them.
func (p *plan) window(items int) int {
	if p.reranker == nil || p.groupBy == "" && p.offset >= p.reranked {
		return 0
	}
	return min(p.reranked, items)
}

// rerank lets the reranker score the first passages, and ranks them by both. If it fails or runs
// out of time, the ranking stays as it is, and a note under Degraded says so. The error is for
// passages that cannot be read from the corpus.
func (a *answer) rerank(ctx context.Context) error {
	x := a.plan.reranker
	r := &a.rankings[0]
	within := a.plan.window(len(r.Items))
	if words, _, unknown := x.KnownWords(a.asked); 2*unknown > words {
		a.notes = append(a.notes, x.Name+" was not trained on the script of the question: it has no part in the ranking")
		within = 0
	}
	if within > 0 {
		first, passages, err := a.texts(ctx, r.Items[:within])
		if err != nil {
			return err
		}
		said, err := a.scored(ctx, x, passages)
		if err != nil {
			a.noteLate(ctx, x.Name, err, "scored the passages", "they are ranked without it")
		} else if len(first) > 0 {
			rest := r.Items[within:]
			weight := a.plan.weightOf(x, first, said)
			scores := make([]float64, len(first))
			for i, item := range first {
				scores[i] = item.Score
			}
			a.rerankedChance(x, scores, said, weight)
			raised := a.raise(first, said, weight, x.Name, OriginRerank)
			slices.SortStableFunc(raised, func(x, y fusion.Item) int { return cmp.Compare(y.Score, x.Score) })
			r.Items = append(raised, rest...)
		}
	}
	return a.cut(r)
}

// scored returns the reranker's scores of passages, and notes how many it could not read to the
// end.
func (a *answer) scored(
	ctx context.Context,
	x *LoadedReranker,
	passages []corpus.Passage,
) (scores []float64, err error) {
	within, cancel := a.timeToRerank(ctx)
	defer cancel()
	var said []Relevance
	err = run.Guard(func() (err error) {
		said, err = x.Score(within, a.asked, passages)
		if err == nil && len(said) != len(passages) {
			err = fmt.Errorf("the reranker scored %d passages of %d", len(said), len(passages))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	cut := 0
	for _, s := range said {
		scores = append(scores, s.Score)
		if s.Cut {
			cut++
		}
	}
	if cut > 0 {
		a.notes = append(a.notes, fmt.Sprintf(
			"%s read only the beginning of %d of %d passages, since they are too long for it",
			x.Name,
			cut,
			len(passages),
		))
	}
	return scores, nil
}

// timeToRerank returns a context that ends early enough for what follows: a reader has its share,
// and fetching as in leaveTimeToFetch.
func (a *answer) timeToRerank(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	left := time.Until(end)
	after := min(left/run.Reserved, run.ReservedMost/2)
	if a.plan.reader != nil {
		after += min(left/3, run.ReadingMost)
	}
	return context.WithDeadline(ctx, end.Add(-after))
}

// weightOf returns what a reranker's scores are multiplied by: what was fitted for the gate, and
// else what makes both scores of the passages vary equally.
func (p *plan) weightOf(x *LoadedReranker, items []fusion.Item, said []float64) float64 {
	if p.weighs(x) {
		return *x.Weight
	}
	scores := make([]float64, len(items))
	for i, item := range items {
		scores[i] = item.Score
	}
	own, others := deviation(said), deviation(scores)
	switch {
	case own == 0: // it says the same of all
		return 0
	case others == 0:
		return 1
	}
	return others / own
}

// deviation returns the standard deviation of numbers, of which there is at least one.
func deviation(all []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, x := range all {
		mean += x / float64(len(all))
	}
	for _, x := range all {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares / float64(len(all)))
}

// raise returns items, in their order, with what a model said of each added to their scores, times
// a weight. A contribution is how far what is said lies above the least, so that none
// falls behind what was not scored.
func (a *answer) raise(items []fusion.Item, said []float64, weight float64, source, origin string) []fusion.Item {
	raised := slices.Clone(items)
	least := slices.Min(said)
	for i := range raised {
		above := said[i] - least
		raised[i].Score += weight * above
		a.credit(0, raised[i].Ordinal, Contribution{
			Source:       source,
			Score:        run.Ptr(run.Printed(above)),
			Origin:       origin,
			Weight:       run.Printed(weight),
			Contribution: run.Printed(weight * above),
		})
	}
	return raised
}

// credited is a passage of a ranking.
type credited struct {
	ranking int
	passage rank.Ordinal
}

// credit notes a contribution to a passage's score in a ranking.
func (a *answer) credit(ranking int, passage rank.Ordinal, c Contribution) {
	if a.credits == nil {
		a.credits = map[credited][]Contribution{}
	}
	at := credited{ranking, passage}
	a.credits[at] = append(a.credits[at], c)
}
