package calibration

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
)

// Without returns the question as it would be in a collection that has none of the passages that answer it. q is not
// changed; the two share what is not removed.
func (q *Question) Without() Question {
	gone := func(o rank.Ordinal) bool { return q.Relevant[o] > 0 }
	out := *q
	out.Table = q.Table.Without(gone)
	out.Relevant = nil
	out.Sources = make([]fusion.ObservedSource, len(q.Sources))
	for i, s := range q.Sources {
		random := make([]rank.Hit, 0, len(s.Random))
		for _, h := range s.Random {
			if !gone(h.Ordinal) {
				random = append(random, h)
			}
		}
		s.Random = random
		out.Sources[i] = s
	}
	return out
}

// Without says why a question has no answer in the collection; Answerable: it has one.
type Without string

// The kinds of questions.
const (
	Answerable   Without = ""             // has one
	TakenOut     Without = "taken out"    // the passages that answer it were taken out of the candidates
	Unanswerable Without = "unanswerable" // its file says so
	Nonsense     Without = "nonsense"     // it asks nothing
	// There and Absent are generated questions with and without an answer.
	There  Without = "there"
	Absent Without = "absent"
	// Judged questions are about many subjects, and nobody said whether the collection
	// answers them: they count as the shipped confidence judges their answers.
	Judged Without = "judged"
)

// nonsenseShare is how much questions.Nonsense counts for in a fit, of the weight of the
// answerable questions. It is not measured by.
const nonsenseShare = .05

// generatedShare is that of generated questions with an answer, and of those without.
const generatedShare = .1

// judgedShare is that of judged questions where no questions are said to be unanswerable. It
// falls to nothing as these become half as many as the answerable ones: see the table in
// docs/evidence/reliability.md.
const judgedShare = 3

// isMeasured reports whether questions of this kind count in reported figures. Questions that the project generates
// (Nonsense, There, Absent), and those that people judged (Judged), count for the fit alone.
func (w Without) isMeasured() bool { return w != Nonsense && w != There && w != Absent && w != Judged }

// withMixtureWeights returns answers with the weights for fitting and measuring a confidence: answerable questions have
// the weight 1, and the others those of MixtureOf. Questions that the project brings have a share of the answerable
// ones' weight. answers is not changed.
func withMixtureWeights(answers []RankedQuestion) []RankedQuestion {
	n := map[Without]float64{}
	for _, a := range answers {
		n[a.Without]++
	}
	own := n[Answerable]
	takenOut, unanswerable := MixtureOf(int(own), int(n[TakenOut]), int(n[Unanswerable]))
	weights := map[Without]float64{
		Answerable: 1, TakenOut: takenOut, Unanswerable: unanswerable,
		Nonsense: nonsenseShare * own / n[Nonsense],
		There:    generatedShare * own / n[There], Absent: generatedShare * own / n[Absent],
		Judged: judgedShare * max(0, own-2*n[Unanswerable]) / n[Judged],
	}
	answers = slices.Clone(answers)
	for i := range answers {
		answers[i].Weight = weights[answers[i].Without]
	}
	return answers
}

// RankAnswers returns the input of FitConfidence: the answers to the questions, then those to the same without the
// passages that answer, then those to the questions beside, with the weights of a mixture (MixtureOf). answers are of
// the questions asked, in their order, and gates those of the folds that gave them. It fails if a gate and a question
// do not fit together.
func RankAnswers(
	asked []Question,
	beside BesideQuestions,
	answers []MethodAnswer,
	gates []fusion.Gate,
	specialists int,
) ([]RankedQuestion, error) {
	ranked := make([]RankedQuestion, len(asked))
	for i := range asked {
		ranked[i] = rankedAs(Answerable, &asked[i], &answers[i])
	}
	out, err := withoutAnswers(TakenOut, asked, gates, specialists)
	ranked = append(ranked, out...)
	for _, group := range []struct {
		kind      Without
		questions []Question
	}{
		{Unanswerable, beside.Unanswerable}, {Nonsense, beside.Nonsense},
		{There, beside.Generated}, {Judged, beside.Subjects},
	} {
		if err != nil {
			return nil, err
		}
		var answers []MethodAnswer
		answers, err = AnswerByFold(gates, group.questions, specialists)
		for i := range answers {
			q := &group.questions[i]
			kind := group.kind
			if kind == There && len(q.Relevant) == 0 {
				kind = Absent
			}
			ranked = append(ranked, rankedAs(kind, q, &answers[i]))
		}
	}
	if err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(slices.Clone(beside.Generated), func(q Question) bool { return len(q.Relevant) == 0 })
	out, err = withoutAnswers(Absent, found, gates, specialists)
	return withMixtureWeights(append(ranked, out...)), err
}

// splitJudged returns the answers with each judged one replaced by two, a right one and a wrong one, which share its
// weight by the shipped chance by. So a fit keeps what the shipped one knows of foreign questions if a collection has
// none of its own. If by is nil, judged answers are left out. It fails if by was fitted to other signals.
func splitJudged(answers []RankedQuestion, by *Logistic) ([]RankedQuestion, error) {
	var out []RankedQuestion
	for _, a := range answers {
		if a.Without != Judged {
			out = append(out, a)
			continue
		}
		if by == nil {
			continue
		}
		chance, err := by.Of(a.Signals)
		if err != nil {
			return nil, fmt.Errorf("the shipped confidence of %s: %w", a.ID, err)
		}
		for first, share := range []float64{1 - chance, chance} {
			if weight := a.Weight * share; weight > 0 {
				a := a
				a.First, a.Weight = first, weight
				out = append(out, a)
			}
		}
	}
	return out, nil
}

// othersShare is the weight of the questions without an answer in a mixture, for a weight of 1 with one: of four
// questions that people ask of their own documents, three are taken to have an answer there.
const othersShare = 1. / 3

// unanswerableShare is the largest share of that weight that unanswerable questions have where there are also questions
// whose passages were taken out.
const unanswerableShare = .8

// MixtureOf returns the weights of a question whose passages were taken out and of an unanswerable one, where each
// answerable question has the weight 1. Both kinds together weigh othersShare for each answerable one; an unanswerable
// one weighs at most 1, and all of them at most unanswerableShare of that, unless none was taken out. A weight is 0 if
// there are none of the kind.
func MixtureOf(answerable, takenOut, unanswerable int) (eachTakenOut, eachUnanswerable float64) {
	others := othersShare * float64(answerable)
	share := min(float64(unanswerable), unanswerableShare*others)
	if takenOut == 0 {
		share = others
	}
	if takenOut > 0 {
		eachTakenOut = (others - share) / float64(takenOut)
	}
	if unanswerable > 0 {
		eachUnanswerable = share / float64(unanswerable)
	}
	return eachTakenOut, eachUnanswerable
}

// rankedAs returns an answer to a question of this kind as a RankedQuestion, without a weight.
func rankedAs(kind Without, q *Question, a *MethodAnswer) RankedQuestion {
	return RankedQuestion{ID: q.ID, Signals: a.Signals, First: a.First, Without: kind, Asked: q, Passages: a.Passages}
}

// withoutAnswers returns the answers to the questions without the passages that answer them, each by its fold's gate.
// It fails if a gate and a question do not fit together.
func withoutAnswers(kind Without, asked []Question, gates []fusion.Gate, specialists int) ([]RankedQuestion, error) {
	out := make([]RankedQuestion, len(asked))
	err := inParallel(len(asked), func(i int) error {
		q := asked[i].Without()
		answer, err := q.answerBy(&gates[foldOf(q.ID)], specialists)
		if err != nil {
			return fmt.Errorf("without its answer: %w", err)
		}
		out[i] = rankedAs(kind, &asked[i], &answer)
		return nil
	})
	return out, err
}

// markRelevant sets q.Relevant for a generated question: the passages among its candidates that have all the words that
// were drawn for it, with grade 1. It sets none if the words are not keys of the question.
func (q *Question) markRelevant() {
	q.Relevant = map[rank.Ordinal]float64{}
	set := keysIn(q.Wording.Keys, q.drawn)
	if set == 0 {
		return
	}
	for _, o := range q.Table.Ordinals() {
		if q.Wording.SetOf(o)&set == set {
			q.Relevant[o] = 1
		}
	}
}

// keysIn returns the set of the keys whose text is one of the words (separated by white space), without punctuation
// around either. Bit i of the set stands for keys.List[i].
func keysIn(keys fusion.Keys, words string) (set uint64) {
	drawn := strings.Fields(words)
	for i := range drawn {
		drawn[i] = bareWord(drawn[i])
	}
	for i, k := range keys.List {
		if slices.Contains(drawn, bareWord(k.Text)) {
			set |= 1 << i
		}
	}
	return set
}

// bareWord returns a word without the punctuation around it.
func bareWord(word string) string {
	return strings.TrimFunc(word, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) })
}
