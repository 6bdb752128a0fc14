package calibration

import (
	"context"
	"fmt"
	"math"
	"slices"

	"conclave/fusion"
	"conclave/rank"
)

// HybridQuestion is a question with what the sources found for it.
type HybridQuestion struct {
	ID     string
	Domain string // for OverDomains; may be empty for OverQuestions
	// Table has the hits of all sources, completed as it will be served. Its
	// scratch memory is used, so no two questions may share one.
	Table *fusion.Candidates
	// Experts and Lexical are the arguments of fusion.Hybrid: the experts with
	// their confidences, and the column of BM25.
	Experts []fusion.Source
	Lexical int
	// Relevant are the grades of the passages that answer, found or not. A
	// passage that is absent or has a grade of 0 or less does not.
	Relevant map[rank.Ordinal]float64
}

// Quality is what is made as high as possible.
type Quality string

// The qualities, of the first Depth passages.
const (
	TopK Quality = "top-k" // share of questions with a passage that answers
	NDCG Quality = "ndcg"  // normalised discounted cumulative gain, linear in the grade
)

// Balance is how questions of several domains are averaged.
type Balance string

// The balances.
const (
	OverQuestions Balance = "mix"     // every question counts the same
	OverDomains   Balance = "domains" // every domain counts the same
)

// AlphaOptions say what the best α is.
type AlphaOptions struct {
	Hybrid  fusion.HybridOptions // but for Alpha
	Quality Quality              // "": TopK
	Depth   int                  // 0: 1 for TopK, 10 for NDCG
	Balance Balance              // "": OverQuestions
	// Grid ascends. Nil: 0 and 25 values from 1e-3 to 10, which has room for
	// unit vectors (some hundredths) and for normalised scores (about 1).
	Grid []float64
}

// AlphaFit is the weight of BM25 in the hybrid.
type AlphaFit struct {
	Alpha  float64
	AtEdge bool // at an end of the grid: the best one may lie beyond
	// Value is the mean quality with Alpha on the questions it was fitted on.
	Value float64
	Curve []Point // α and mean quality, every one that was tried on all questions
	// HeldOut is the mean with α fitted on other questions; HeldOutValues are
	// its terms, in the order of the questions, for tests of significance.
	HeldOut       float64
	HeldOutValues []float64
	// Alphas are, in the same order, the α fitted on the other folds' questions.
	Alphas []float64
}

// FitAlpha finds the α with which the hybrid is best.
func FitAlpha(ctx context.Context, questions []HybridQuestion, o AlphaOptions) (AlphaFit, error) {
	var fit AlphaFit
	if err := o.check(); err != nil {
		return fit, err
	}
	if err := checkHybrid(questions, o); err != nil {
		return fit, err
	}
	s := alphaSearch{questions: questions, options: o, known: map[float64][]float64{}}
	all := make([]int, len(questions))
	for i := range all {
		all[i] = i
	}
	best, err := s.fit(ctx, all)
	if err != nil {
		return fit, err
	}
	fit.Alpha, fit.AtEdge, fit.Value = best.X, best.AtEdge, -best.Value
	for _, p := range best.Seen {
		fit.Curve = append(fit.Curve, Point{p.X, -p.Value})
	}
	type heldOut struct{ alpha, value float64 }
	others, err := CrossFit(all, func(i *int) string { return questions[*i].ID },
		func(others []int) (Minimum, error) { return s.fit(ctx, others) },
		func(m Minimum, i *int) (heldOut, error) {
			value, err := s.values([]int{*i}, m.X)
			return heldOut{m.X, value[0]}, err
		})
	if err != nil {
		return fit, err
	}
	for _, o := range others {
		fit.Alphas, fit.HeldOutValues = append(fit.Alphas, o.alpha), append(fit.HeldOutValues, o.value)
	}
	fit.HeldOut = s.mean(all, fit.HeldOutValues)
	return fit, nil
}

func (o *AlphaOptions) check() error {
	if o.Quality == "" {
		o.Quality = TopK
	}
	if o.Balance == "" {
		o.Balance = OverQuestions
	}
	switch {
	case o.Quality != TopK && o.Quality != NDCG:
		return fmt.Errorf("quality %q is unknown: %v are known", o.Quality, []Quality{TopK, NDCG})
	case o.Balance != OverQuestions && o.Balance != OverDomains:
		return fmt.Errorf("balance %q is unknown: %v are known", o.Balance, []Balance{OverQuestions, OverDomains})
	case o.Depth < 0:
		return fmt.Errorf("the depth is %d: it must be at least 1, or 0 for the default", o.Depth)
	case o.Depth == 0 && o.Quality == TopK:
		o.Depth = 1
	case o.Depth == 0:
		o.Depth = 10
	}
	if o.Grid == nil {
		o.Grid = append([]float64{0}, logarithmic(-3, 1, 6)...)
	}
	return nil
}

func checkHybrid(questions []HybridQuestion, o AlphaOptions) error {
	if len(questions) == 0 {
		return fmt.Errorf("there are no questions to fit α on")
	}
	tables := make(map[*fusion.Candidates]string, len(questions))
	for _, q := range questions {
		switch first, twice := tables[q.Table]; {
		case q.Table == nil:
			return fmt.Errorf("question %s has no candidates", q.ID)
		case twice:
			return fmt.Errorf("questions %s and %s share a table of candidates", first, q.ID)
		case q.Lexical < 0:
			return fmt.Errorf("question %s has no lexical source: there is no α to fit", q.ID)
		case o.Balance == OverDomains && q.Domain == "":
			return fmt.Errorf("question %s names no domain: a mean over domains needs one", q.ID)
		}
		tables[q.Table] = q.ID
	}
	return nil
}

// alphaSearch works out qualities. Those that were worked out are kept, since
// all the folds ask for the grid's, and often for the same beyond.
type alphaSearch struct {
	questions []HybridQuestion
	options   AlphaOptions
	known     map[float64][]float64 // by α and question; NaN: not yet
}

// fit finds α for the questions at the given places; the values of the
// minimum are negative qualities.
func (s *alphaSearch) fit(ctx context.Context, places []int) (Minimum, error) {
	return Minimise(ctx, s.options.Grid, func(alpha float64) (float64, error) {
		values, err := s.values(places, alpha)
		return -s.mean(places, values), err
	})
}

// values are the qualities of the questions at the given places.
func (s *alphaSearch) values(places []int, alpha float64) ([]float64, error) {
	known := s.known[alpha]
	if known == nil {
		known = slices.Repeat([]float64{math.NaN()}, len(s.questions))
		s.known[alpha] = known
	}
	values := make([]float64, len(places))
	err := inParallel(len(places), func(n int) error {
		i := places[n]
		if math.IsNaN(known[i]) {
			var err error
			if known[i], err = s.value(i, alpha); err != nil {
				return fmt.Errorf("question %s: %w", s.questions[i].ID, err)
			}
		}
		values[n] = known[i]
		return nil
	})
	return values, err
}

// value is the quality of one question.
func (s *alphaSearch) value(i int, alpha float64) (float64, error) {
	q, o := &s.questions[i], s.options
	o.Hybrid.Alpha = alpha
	ranking, err := fusion.Hybrid(q.Table, q.Experts, q.Lexical, o.Hybrid, o.Depth)
	if err != nil {
		return 0, err
	}
	if o.Quality == TopK {
		for _, item := range ranking.Items {
			if q.Relevant[item.Ordinal] > 0 {
				return 1, nil
			}
		}
		return 0, nil
	}
	return ndcg(ranking.Items, q.Relevant, o.Depth), nil
}

// ndcg is Σ grade/log2(rank+1), divided by that of the ideal order.
func ndcg(items []fusion.Item, relevant map[rank.Ordinal]float64, depth int) float64 {
	gain := 0.0
	for i, item := range items {
		gain += max(relevant[item.Ordinal], 0) / math.Log2(float64(i+2))
	}
	var grades []float64
	for _, grade := range relevant {
		if grade > 0 {
			grades = append(grades, grade)
		}
	}
	slices.Sort(grades)
	slices.Reverse(grades)
	ideal := 0.0
	for i, grade := range grades[:min(depth, len(grades))] {
		ideal += grade / math.Log2(float64(i+2))
	}
	if ideal == 0 {
		return 0
	}
	return gain / ideal
}

// mean averages the values of the questions at the given places.
func (s *alphaSearch) mean(places []int, values []float64) float64 {
	type sum struct{ total, n float64 }
	var order []string // the first to appear first, so that the sum is always the same
	domains := map[string]*sum{}
	for n, i := range places {
		domain := ""
		if s.options.Balance == OverDomains {
			domain = s.questions[i].Domain
		}
		d := domains[domain]
		if d == nil {
			d = &sum{}
			domains[domain], order = d, append(order, domain)
		}
		d.total += values[n]
		d.n++
	}
	mean := 0.0
	for _, domain := range order {
		mean += domains[domain].total / domains[domain].n / float64(len(order))
	}
	return mean
}
