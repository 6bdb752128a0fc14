package calibration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/questions"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search"

	"golang.org/x/sync/errgroup"
)

// Question is a question with what the sources found for it.
type Question struct {
	ID      string // of its domain and its own
	Domain  string
	Text    string
	Answers []string // the words that answer it; none where they are not known
	// Table has the hits of all sources, completed by their true scores. Its scratch
	// memory is used, so no two questions may share one.
	Table *fusion.Candidates
	// Sources are the observed sources, each with its column of Table.
	Sources []fusion.ObservedSource
	// Relevant are the grades of the passages that answer, found or not.
	Relevant map[rank.Ordinal]float64
	Wording  fusion.Wording
	Language string // search.Evidence.Language

	drawn  string // of a generated question: see questions.Question
	absent bool   // a generated question was made without an answer

	ensembles []ensembleAnswer // by column; none of a source without
}

// fusionInput returns the question as the input of a fusion method.
func (q *Question) fusionInput() fusion.Input {
	return fusion.Input{Table: q.Table, Sources: q.Sources, Wording: q.Wording}
}

// inputOf returns the input of method m when the question is served: without the experts that have no ensemble, if m
// weighs several experts by how sure they are.
func (q *Question) inputOf(m fusion.Method) fusion.Input {
	in := q.fusionInput()
	experts, sure := 0, 0
	var served []fusion.ObservedSource
	for _, o := range in.Sources {
		able := q.ensembleOf(o.Column).members >= 2
		if o.Kind.Dense() {
			experts++
			if able {
				sure++
			}
		}
		if able || !o.Kind.Dense() {
			served = append(served, o)
		}
	}
	if sure > 0 && m.WeighsByConfidence(experts) {
		in.Sources = served
	}
	return in
}

// withMostFamiliar returns a copy of the question as if only so many specialists were asked, those most familiar with
// it; q itself for 0, which means all.
func (q *Question) withMostFamiliar(specialists int) *Question {
	if specialists == 0 {
		return q
	}
	out := *q
	out.Sources = fusion.MostFamiliar(q.Sources, specialists)
	return &out
}

// withoutLate returns copies of the questions without the source late interaction; nil if no question has it. The
// candidates stay the same, since late interaction finds none. questions is not changed.
func withoutLate(questions []Question) []Question {
	some := false
	out := slices.Clone(questions)
	for i := range out {
		q := &out[i]
		isLate := func(s fusion.ObservedSource) bool { return s.Kind == fusion.Late }
		q.Sources = slices.DeleteFunc(slices.Clone(q.Sources), isLate)
		some = some || len(q.Sources) < len(questions[i].Sources)
	}
	if !some {
		return nil
	}
	return out
}

// Evidence is a set of questions with what a collection's sources found for them.
type Evidence struct {
	Sources []string // the names of the tables' columns
	// Questions have a passage of the collection that answers.
	Questions []Question
	BesideQuestions

	domains []QuestionSet
}

// BesideQuestions are further questions, which count only for confidences.
type BesideQuestions struct {
	// Unanswerable are said to have no answer anywhere; Nonsense are those of
	// questions.Nonsense, Subjects those of questions.Subjects, and Generated those of
	// questions.Generate: with a passage that answers, and without.
	Unanswerable, Nonsense, Subjects, Generated []Question
}

// Gatherer asks all sources of a collection for scores; *search.Engine is one.
type Gatherer interface {
	Gather(ctx context.Context, r search.Request, depth int) (search.Evidence, error)
}

// EnsembleDepth is how many of an expert's first hits its ensemble is asked about.
const EnsembleDepth = 100

// gatherers is how many questions are asked at once: encoders form batches of
// them.
const gatherers = 16

// Gather returns the evidence for every question that has a relevant passage in the collection, and for those that are
// said to have none anywhere. Other questions are left out, since another passage may answer them. Each question has
// the timeout. It fails if no passage of a domain is in the collection, or a search fails.
func Gather(ctx context.Context, engine Gatherer, passages questions.Passages, domains []questions.Domain,
	timeout time.Duration, progress func(done, total int)) (*Evidence, error) {
	return GatherBy(ctx, passages, domains, progress, func(ctx context.Context, q *Question) (search.Evidence, error) {
		return engine.Gather(ctx, search.Request{Question: q.Text, TimeoutMS: int(timeout.Milliseconds())}, EnsembleDepth)
	})
}

// atOnce calls do for every number from 0 to n-1, at most limit at a time, and calls progress after each, one call at a
// time. It returns the first error, after which ctx of the other calls ends.
func atOnce(
	ctx context.Context,
	limit, n int,
	progress func(done, total int),
	do func(ctx context.Context, at int) error,
) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	var mu sync.Mutex
	done := 0
	for at := range n {
		group.Go(func() error {
			if err := do(ctx, at); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			progress(done, n)
			return nil
		})
	}
	return group.Wait()
}

// creditCopies raises the relevance of each passage that stands for copies of it to the highest relevance among these.
func (q *Question) creditCopies(found *search.Evidence) {
	for o, others := range found.Copies {
		for _, other := range others {
			if grade := q.Relevant[other]; grade > q.Relevant[o] {
				q.Relevant[o] = grade
			}
		}
	}
}

// GatherBy does what Gather does, with ask in the place of a search. ask may change which passages are relevant.
// progress is called after each question, one call at a time. It fails if a question is a turn of a conversation, or
// none has a passage that answers.
func GatherBy(
	ctx context.Context,
	passages questions.Passages,
	domains []questions.Domain,
	progress func(done, total int),
	ask func(ctx context.Context, q *Question) (search.Evidence, error),
) (*Evidence, error) {
	e := &Evidence{}
	var all []Question
	for _, d := range domains {
		if err := d.About(passages); err != nil {
			return nil, err
		}
		if !slices.Contains([]string{questions.NonsenseDomain, questions.SubjectsDomain, questions.GeneratedDomain}, d.Name) {
			e.domains = append(e.domains, QuestionSet{Domain: d.Name, Questions: len(d.Questions), SHA256: d.SHA256})
		}
		for i := range d.Questions {
			q := &d.Questions[i]
			if len(q.Before) > 0 {
				return nil, fmt.Errorf(
					"%s: question %q is a turn of a conversation, and what is fitted is fitted to questions that stand alone: leave it out",
					q.Place, q.ID,
				)
			}
			relevant, err := q.Among(passages)
			if err != nil {
				return nil, err
			}
			if len(relevant) > 0 || q.Unanswerable || q.Drawn != "" {
				all = append(
					all,
					Question{
						ID:       d.Name + "/" + q.ID,
						Domain:   d.Name,
						Text:     q.Text,
						Answers:  q.Answers,
						Relevant: relevant,
						drawn:    q.Drawn,
						absent:   q.Unanswerable,
					},
				)
			}
		}
	}
	var mu sync.Mutex
	err := atOnce(ctx, gatherers, len(all), progress, func(ctx context.Context, i int) error {
		found, err := ask(ctx, &all[i])
		if err != nil {
			return fmt.Errorf("question %q (%s): %w", all[i].Text, all[i].ID, err)
		}
		all[i].creditCopies(&found)
		all[i].takeEvidence(&found)
		mu.Lock()
		defer mu.Unlock()
		if e.Sources == nil {
			for _, s := range found.Sources {
				e.Sources = append(e.Sources, s.Name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, q := range all {
		switch {
		case q.drawn != "":
			if q.markRelevant(); q.absent == (len(q.Relevant) == 0) {
				e.Generated = append(e.Generated, q)
			}
		case len(q.Relevant) > 0:
			e.Questions = append(e.Questions, q)
		case q.Domain == questions.NonsenseDomain:
			e.Nonsense = append(e.Nonsense, q)
		case q.Domain == questions.SubjectsDomain:
			e.Subjects = append(e.Subjects, q)
		default:
			e.Unanswerable = append(e.Unanswerable, q)
		}
	}
	if len(e.Questions) == 0 {
		return nil, errors.New("none of the questions has a passage that answers in the collection")
	}
	return e, nil
}

// takeEvidence sets the question's table, sources and ensembles from the evidence of a search.
func (q *Question) takeEvidence(found *search.Evidence) {
	q.Table, q.Wording, q.Language = found.Table, found.Wording, found.Language
	for column := range found.Sources {
		s := &found.Sources[column]
		q.Sources = append(q.Sources, s.ObservedSource)
		q.ensembles = append(q.ensembles, ensembleAnswer{q.ID, s.MemberScores, s.Members, q.AnsweredBy(column)})
	}
}

// ensembleOf returns the ensemble's answer of the source at a column; the zero value if it has none.
func (q *Question) ensembleOf(column int) (e ensembleAnswer) {
	if column < len(q.ensembles) {
		e = q.ensembles[column]
	}
	return e
}

// AnsweredBy reports whether the first hit of the source at a column answers.
func (q *Question) AnsweredBy(column int) bool {
	for row := range q.Table.Len() {
		if q.Table.BestRank(row, []int{column}) == 1 && q.Relevant[q.Table.Ordinal(row)] > 0 {
			return true
		}
	}
	return false
}

// evidenceLine is the JSON of a question from which the shipped gate is fitted (research/bench/gate).
type evidenceLine struct {
	ID     string              `json:"id"`
	Domain string              `json:"domain"`
	Kinds  []fusion.SourceKind `json:"kinds"`
	// The features that a gate reads, as FeaturesOf computes them: of every dense
	// source, of BM25, of late interaction.
	Dense   [][]float64 `json:"dense"`
	Lexical []float64   `json:"lexical"`
	Late    []float64   `json:"late"`
	Exact   float64     `json:"exact"`
	Symbols float64     `json:"symbols"`
	// Scores and Ranks have one list for each of Kinds, by the candidates' ordinals; the
	// rank is 0 where the source did not find the candidate. The candidates' grades are 0
	// where they do not answer. Missed are the grades of the answers that are no
	// candidates.
	Scores [][]float64 `json:"scores"`
	Ranks  [][]int     `json:"ranks"`
	Grades []float64   `json:"grades"`
	Missed []float64   `json:"missed"`
	// Spread has for each of Kinds the standard deviation of its scores of random passages; 0: these were not asked
	// for.
	Spread []float64 `json:"spread"`
}

// Write writes the data that gates are fitted on, one line of JSON for each question, with so many specialists asked.
// It leaves out the ensembles' confidences, which need temperatures. It returns the first error of w.
func (e *Evidence) Write(w io.Writer, specialists int) error {
	lines := json.NewEncoder(w)
	for i := range e.Questions {
		if err := lines.Encode(e.Questions[i].withMostFamiliar(specialists).evidenceLine()); err != nil {
			return err
		}
	}
	return nil
}

// evidenceLine returns the question as JSON for fitting the shipped gate: its features, and the scores, ranks and
// grades of the candidates that a source found. Missed has the grades, ascending, of the relevant passages that none
// found.
func (q *Question) evidenceLine() evidenceLine {
	features := fusion.FeaturesOf(q.Table, q.Sources)
	e := evidenceLine{
		ID:      q.ID,
		Domain:  q.Domain,
		Dense:   features.Dense,
		Lexical: features.Lexical,
		Late:    features.Late,
		Exact:   features.Exact,
		Symbols: features.Symbols,
		Scores:  make([][]float64, len(q.Sources)),
		Ranks:   make([][]int, len(q.Sources)),
		Missed:  []float64{},
	}
	columns := make([]int, len(q.Sources))
	for i, s := range q.Sources {
		columns[i] = s.Column
		e.Kinds = append(e.Kinds, s.Kind)
		e.Spread = append(e.Spread, 0)
		if len(s.Random) > 0 {
			e.Spread[i] = s.RandomDeviation()
		}
	}
	missed := maps.Clone(q.Relevant)
	q.Table.Each(fusion.Exact, func(row int, own []float64) {
		if q.Table.BestRank(row, columns) == 0 { // none of these sources found it
			return
		}
		for i, column := range columns {
			e.Scores[i] = append(e.Scores[i], own[column])
			e.Ranks[i] = append(e.Ranks[i], q.Table.BestRank(row, columns[i:i+1]))
		}
		e.Grades = append(e.Grades, q.Relevant[q.Table.Ordinal(row)])
		delete(missed, q.Table.Ordinal(row))
	})
	e.Missed = slices.AppendSeq(e.Missed, maps.Values(missed))
	slices.Sort(e.Missed)
	return e
}
