package evaluation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"example.org/conclave/internal/questions"
	"example.org/conclave/search"
	"example.org/conclave/search/reply"

	"golang.org/x/sync/errgroup"
)

// Engine answers questions; *search.Engine is one.
type Engine interface {
	// Search answers one request.
	Search(ctx context.Context, by search.Caller, request search.Request) (reply.Response, error)
	// Compare answers a question in several ways from one pass.
	Compare(ctx context.Context, requests []search.Request) ([]reply.Response, error)
}

// pass is how the questions of a domain are asked once.
type pass struct {
	*MeasureOptions
	// answered needs titles and texts of all passages
	titles   bool
	progress func(done, total int)
	// answered is called with each question and its rankings, by method, in the order of the questions and one at a
	// time. May be nil.
	answered func(a *AnsweredQuestion) error
}

// AnsweredQuestion is a question with the ranking of each method, in the order of the methods.
type AnsweredQuestion struct {
	Question *questions.Question
	Rankings []MethodRanking
	judge    *answerJudge
}

// MethodRanking is one method's ranking, best first.
type MethodRanking struct {
	Results    []reply.Result
	Confidence *float64
}

// measureQuestions asks every question once and measures the rankings of all methods. It fails if one question fails or
// a source did not answer it, since an average over the others would say nothing.
func measureQuestions(
	ctx context.Context, engine Engine, domain string, asked []questions.Question, p pass,
) (*DomainResults, error) {
	if len(asked) == 0 {
		return nil, errors.New("there are no questions to evaluate with")
	}
	m := newMeasuring(domain, asked, p)
	workers, ctx := errgroup.WithContext(ctx)
	// One more than the processors, so that the encoders have a question while
	// others are being fused.
	workers.SetLimit(runtime.GOMAXPROCS(0) + 1)
	for i := range asked {
		if ctx.Err() != nil {
			break
		}
		workers.Go(func() error {
			if err := m.askOne(ctx, engine, i); err != nil {
				return fmt.Errorf("question %s (%s): %w", asked[i].ID, asked[i].Place, err)
			}
			return nil
		})
	}
	cut := context.Cause(ctx)
	if err := cmp.Or(workers.Wait(), cut); err != nil {
		return nil, err
	}
	return m.meansOf(), nil
}

// measureRun is the state of a measurement.
type measureRun struct {
	pass      pass
	questions []questions.Question
	out       *DomainResults

	mu   sync.Mutex // guards what follows
	done int
	// sums of the weights that each method gave each source
	weights []map[string]float64
	meant   map[string]string
	bad     []string
	// answers that came before their turn, by index
	waiting map[int]*AnsweredQuestion
	// index of the next answer for pass.answered
	turn int
}

// newMeasuring returns the measurement of a domain's questions before any was asked.
func newMeasuring(domain string, asked []questions.Question, p pass) *measureRun {
	m := &measureRun{pass: p, questions: asked, meant: map[string]string{}, waiting: map[int]*AnsweredQuestion{},
		out: &DomainResults{Domain: domain, Questions: make([]AskedQuestion, len(asked))}}
	for range p.Methods {
		m.out.Outcomes = append(m.out.Outcomes, make([]Outcome, len(asked)))
		m.weights = append(m.weights, map[string]float64{})
	}
	return m
}

// askOne asks the question with this index by all methods and keeps the outcomes. It fails if a method fails or a
// source does not answer. It fails also if the question has an answer without a token.
func (m *measureRun) askOne(ctx context.Context, engine Engine, at int) error {
	q := &m.questions[at]
	j, err := newJudge(q, m.pass.Patterns)
	if err != nil {
		return err
	}
	requests := m.requestsFor(q)
	var again []int // methods that are asked once more, as if the collection did not answer
	if right := j.judgements.Answering(); len(right) > 0 {
		again = m.fusingMethods()
		for _, i := range again {
			r := requests[i]
			r.K = 1
			r.Fields = []string{}
			r.Without = right
			requests = append(requests, r)
		}
	}
	responses, err := engine.Compare(ctx, requests)
	if err != nil {
		return err
	}
	if len(responses) != len(requests) {
		return fmt.Errorf("%d answers came back for %d requests", len(responses), len(requests))
	}
	withheld := responses[len(m.pass.Methods):]
	responses = responses[:len(m.pass.Methods)]
	answered := &AnsweredQuestion{Question: q, judge: j}
	for i := range responses {
		r := &responses[i]
		for _, missing := range r.Degraded {
			if !slices.Contains(m.pass.Out, missing) {
				return fmt.Errorf("source %s was left out: %s", missing.Source, missing.Reason)
			}
		}
		m.out.Outcomes[i][at] = j.outcomeOf(r.Results, r.Confidence, m.pass.Metrics)
		answered.Rankings = append(answered.Rankings, MethodRanking{Results: r.Results, Confidence: r.Confidence})
	}
	for n, i := range again {
		if basis := responses[i].Basis; basis == reply.BasisCalibrated || basis == reply.BasisShipped {
			m.out.Outcomes[i][at].TakenOut = withheld[n].Confidence
		}
	}
	m.out.Questions[at] = AskedQuestion{
		ID: q.ID, Judged: j.judged, Answerable: j.answers != nil, Unanswerable: q.Unanswerable,
	}
	return m.keepAnswer(at, answered, responses)
}

// fusingMethods returns the indexes of the methods that fuse sources: only their answers may have a confidence.
func (m *measureRun) fusingMethods() (methods []int) {
	for i, method := range m.pass.Methods {
		if method.Kind != KindSource {
			methods = append(methods, i)
		}
	}
	return methods
}

// requestsFor returns the request for a question by each method. They differ in what the methods set, and ask for no
// more fields than the measures need.
func (m *measureRun) requestsFor(q *questions.Question) []search.Request {
	fields := []string{}
	if len(q.Answers) > 0 {
		fields = append(fields, "text")
	}
	if m.pass.titles {
		fields = []string{"title", "text"}
	}
	requests := make([]search.Request, len(m.pass.Methods))
	for i, method := range m.pass.Methods {
		r := method.Request
		asked := search.Ask(q.Text, q.Before)
		r.Question = asked.Question
		r.Messages = asked.Messages
		r.K = m.pass.Depth
		r.Candidates = m.pass.Candidates
		r.Exact = m.pass.Exact
		r.Fields = fields
		r.TimeoutMS = int(m.pass.Timeout.Milliseconds())
		requests[i] = r
	}
	return requests
}

// keepAnswer adds the weights in the responses to one question to the sums, reports progress, and calls pass.answered
// for all answers whose turn it is: answers are handed on in the order of the questions. It returns the error of that
// function.
func (m *measureRun) keepAnswer(at int, answered *AnsweredQuestion, responses []reply.Response) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, r := range responses {
		method := &m.pass.Methods[i]
		if asked := method.Request.Fusion.Names; len(asked) == 1 && r.Fusion != "" && r.Fusion != asked[0] {
			m.meant[method.Name] = r.Fusion
		}
		for _, s := range r.Sources {
			if s.Weight != nil {
				m.weights[i][s.Name] += *s.Weight
			}
		}
	}
	m.bad = append(m.bad, answered.judge.bad...)
	m.done++
	m.pass.progress(m.done, len(m.questions))
	if m.pass.answered == nil {
		return nil
	}
	m.waiting[at] = answered
	for next := m.waiting[m.turn]; next != nil; next = m.waiting[m.turn] {
		delete(m.waiting, m.turn)
		m.turn++
		if err := m.pass.answered(next); err != nil {
			return err
		}
	}
	return nil
}

// meansOf returns what was measured, with the sums of weights divided by the number of questions. Call it once, after
// the last question.
func (m *measureRun) meansOf() *DomainResults {
	n := float64(len(m.questions))
	for i, method := range m.pass.Methods {
		if method.Kind == KindSource {
			m.weights[i] = nil
		}
		for name, sum := range m.weights[i] {
			m.weights[i][name] = roundMean(sum / n)
		}
	}
	slices.Sort(m.bad)
	m.out.Weights = m.weights
	m.out.Meant = m.meant
	m.out.BadPatterns = slices.Compact(m.bad)
	return m.out
}

// roundMean returns a mean rounded to nine decimals: later digits depend on the order in which questions were done.
func roundMean(mean float64) float64 { return math.Round(mean*1e9) / 1e9 }
