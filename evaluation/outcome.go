package evaluation

import (
	"fmt"

	"example.org/conclave/internal/questions"
	"example.org/conclave/search/reply"
)

// Outcome is the result of one method for one question. DomainResults says which fields a question has.
type Outcome struct {
	First       int      `json:"f,omitempty"` // rank of the first relevant passage, from 1; 0: none
	FirstAnswer int      `json:"a,omitempty"` // rank of the first passage that holds an answer; 0: none
	NDCG10      float64  `json:"n,omitempty"`
	AP          float64  `json:"p,omitempty"`
	Recall100   float64  `json:"r,omitempty"`
	Confidence  *float64 `json:"c,omitempty"` // nil: the method has none
	// TakenOut is the confidence after the passages that answer were removed; nil: there are none, or the confidence is
	// no fitted probability.
	TakenOut *float64 `json:"t,omitempty"`
	// Asked are the measures that were asked for, by their keys.
	Asked map[string]float64 `json:"m,omitempty"`
}

// reciprocalRank returns the reciprocal rank at 10.
func (o *Outcome) reciprocalRank() float64 {
	if o.First == 0 || o.First > 10 {
		return 0
	}
	return 1 / float64(o.First)
}

// isWithin returns 1 if the rank first is from 1 to k, and 0 otherwise.
func isWithin(first, k int) float64 {
	if first > 0 && first <= k {
		return 1
	}
	return 0
}

// AskedQuestion is what is known about a question that was asked.
type AskedQuestion struct {
	ID         string `json:"id"`
	Judged     bool   `json:"judged,omitempty"`     // it has relevant passages
	Answerable bool   `json:"answerable,omitempty"` // it has answers to look for
	// Unanswerable: nothing answers it, so that it counts for confidences alone.
	Unanswerable bool `json:"unanswerable,omitempty"`
}

// DomainResults is the results of all methods for the questions of one domain.
type DomainResults struct {
	Domain    string          `json:"domain"`
	Questions []AskedQuestion `json:"questions"`
	Outcomes  [][]Outcome     `json:"outcomes"` // by method, then by question
	// Weights are the mean weights that each method gave the sources, by
	// method; nil for a method that is a source.
	Weights []map[string]float64 `json:"weights"`
	// Meant is what "auto" stands for, by the name of the method.
	Meant map[string]string `json:"meant,omitempty"`
	// BadPatterns are answers that are no regular expression; they match
	// nothing, as in DPR.
	BadPatterns []string `json:"bad_patterns,omitempty"`
}

// countUnanswerable returns the number of questions that nothing answers.
func (m *DomainResults) countUnanswerable() (n int) {
	for _, q := range m.Questions {
		if q.Unanswerable {
			n++
		}
	}
	return n
}

// answerJudge measures the rankings of one question. A passage is searched for an answer once,
// however many methods found it.
type answerJudge struct {
	question   *questions.Question
	judgements questions.Judgements
	judged     bool
	answers    Matcher // nil: there are none
	bad        []string
	seen       map[string]bool // by passage: holds an answer
}

// newJudge returns a judge of the results for a question. With patterns, the question's answers are regular
// expressions, and those that do not compile are left out. It fails if an answer has no tokens.
func newJudge(q *questions.Question, patterns bool) (*answerJudge, error) {
	j := &answerJudge{question: q, judgements: q.Judgements(), seen: map[string]bool{}}
	j.judged = j.judgements.Relevant() > 0
	switch {
	case len(q.Answers) == 0:
	case patterns:
		j.answers, j.bad = regexAnswers(q.Answers)
	default:
		var err error
		j.answers, err = stringAnswers(q.Answers)
		if err != nil {
			return nil, fmt.Errorf("%s, field \"answers\": %w", q.Place, err)
		}
	}
	return j, nil
}

// holdsAnswer reports whether a passage holds an answer.
func (j *answerJudge) holdsAnswer(r *reply.Result) bool {
	if j.answers == nil {
		return false
	}
	contains, known := j.seen[r.ID]
	if !known {
		contains = j.answers.In(r.Text)
		j.seen[r.ID] = contains
	}
	return contains
}

// judgedID returns the id of a result, or that of its copy with the best grade if that is better.
func judgedID(r *reply.Result, j questions.Judgements) string {
	best := r.ID
	for _, id := range r.Copies {
		if j[id] > j[best] {
			best = id
		}
	}
	return best
}

// outcomeOf returns the measures of a ranking for the question, with the metrics asked for. Fields for which the
// question has no judged passages, or no answers, are zero.
func (j *answerJudge) outcomeOf(results []reply.Result, confidence *float64, asked []Metric) Outcome {
	o := Outcome{Confidence: confidence}
	if j.judged {
		ids := make([]string, len(results))
		for i := range results {
			ids[i] = judgedID(&results[i], j.judgements)
		}
		o.First = firstRelevant(ids, j.judgements)
		for _, m := range asked {
			if o.Asked == nil {
				o.Asked = map[string]float64{}
			}
			o.Asked[m.Key] = m.measure(ids, j.judgements, m.depth)
		}
		o.NDCG10 = ndcg(ids, j.judgements, 10)
		o.AP = averagePrecision(ids, j.judgements)
		o.Recall100 = recallAt(ids, j.judgements, 100)
	}
	if j.answers != nil {
		for i := range results {
			if j.holdsAnswer(&results[i]) {
				o.FirstAnswer = i + 1
				break
			}
		}
	}
	return o
}
