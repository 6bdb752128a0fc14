package calibration

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"

	"golang.org/x/sync/errgroup"
)

// MethodAnswer is a method's answer to a question.
type MethodAnswer struct {
	// the rank of the first passage that answers, from 1; 0: none of the first AnsweredDepth does
	First    int
	Signals  []float64  // of a gated answer
	Passages []rank.Hit // the first of a gated answer, for a reader and a reranker
	// the ranking's confidence, in answers of By; nil: the method has none
	Confidence *float64
}

// AnsweredDepth is how many passages of an answer are looked at.
const AnsweredDepth = 100

// FoldGates returns a gate for each fold, fitted on the questions of the other folds. It fails if one cannot be fitted
// (FitGate).
func FoldGates(ctx context.Context, questions []Question, o GateOptions) ([]fusion.Gate, error) {
	forms, err := formsOf(questions, o.Specialists)
	if err != nil {
		return nil, err
	}
	gates := make([]fusion.Gate, Folds)
	for fold := range gates {
		var others []askedForms
		for i, q := range questions {
			if foldOf(q.ID) != fold {
				others = append(others, forms[i])
			}
		}
		var err error
		gates[fold], err = fitForms(ctx, others, o)
		if err != nil {
			return nil, fmt.Errorf("fitting without fold %d: %w", fold+1, err)
		}
	}
	return gates, nil
}

// AnswerByFold answers each question with the gate that was fitted without its fold. The questions may have other
// sources than the gates were fitted with, and may be other questions: thus it measures a gate with experts that
// joined, or on a domain that it was not fitted on. specialists is how many of them are asked, the most familiar with
// each question; 0: all. It fails if a gate and a question do not fit together.
func AnswerByFold(gates []fusion.Gate, questions []Question, specialists int) ([]MethodAnswer, error) {
	answers := make([]MethodAnswer, len(questions))
	err := inParallel(len(questions), func(i int) (err error) {
		answers[i], err = questions[i].answerBy(&gates[foldOf(questions[i].ID)], specialists)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// answerBy returns the answer to the question by a gate, when at most so many specialists are asked; 0: all. It fails
// if the gate and the question do not fit together.
func (q *Question) answerBy(gate *fusion.Gate, specialists int) (MethodAnswer, error) {
	asked := q.withMostFamiliar(specialists)
	r, err := fusion.Gated(asked.Table, gate, asked.Sources, fusion.Exact, AnsweredDepth)
	if err != nil {
		return MethodAnswer{}, fmt.Errorf("question %q: %w", q.ID, err)
	}
	signals := fusion.Signals(asked.Table, asked.Sources, r, q.Wording)
	out := MethodAnswer{First: firstRelevant(r, q.Relevant), Signals: signals}
	for _, item := range r.Items[:min(rerankedDepth, len(r.Items))] {
		out.Passages = append(out.Passages, rank.Hit{Ordinal: item.Ordinal, Score: float32(item.Score)})
	}
	return out, nil
}

// firstRelevant returns the rank of the first relevant item, from 1; 0: none.
func firstRelevant(r fusion.Ranking, relevant map[rank.Ordinal]float64) int {
	for i, item := range r.Items {
		if relevant[item.Ordinal] > 0 {
			return i + 1
		}
	}
	return 0
}

// By returns the answers of a method to every question, several at a time: no two questions may share a table. It fails
// if the method fails for a question.
func By(questions []Question, method func(q *Question) (fusion.Ranking, error)) ([]MethodAnswer, error) {
	out := make([]MethodAnswer, len(questions))
	err := inParallel(len(questions), func(i int) error {
		r, err := method(&questions[i])
		if err != nil {
			return fmt.Errorf("question %q: %w", questions[i].ID, err)
		}
		out[i].First = firstRelevant(r, questions[i].Relevant)
		out[i].Confidence = r.Confidence
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Accuracy returns the share of questions with a passage that answers among the
// first k, 0 to 1.
func Accuracy(answers []MethodAnswer, k int) float64 {
	right := 0.0
	for _, a := range answers {
		if a.First > 0 && a.First <= k {
			right++
		}
	}
	return right / float64(max(len(answers), 1))
}

// Folds is the number of folds of cross-fitting.
const Folds = 5

// foldOf returns the fold of a question, 0 to 4: the first eight bytes of the
// SHA-256 of its id, as a big-endian number, modulo five. It depends on the id
// alone, so that a question is in the same fold whatever else is in the file,
// and in every program that computes it.
func foldOf(id string) int {
	sum := sha256.Sum256([]byte(id))
	return int(binary.BigEndian.Uint64(sum[:]) % Folds)
}

// crossFit applies to each question what was fitted on the questions of the other folds, and returns the results in the
// order of the questions. id is a question's id. It fails if fit or apply does, or if all questions are in one fold.
func crossFit[Question, Model, Result any](questions []Question, id func(*Question) string,
	fit func(others []Question) (Model, error), apply func(Model, *Question) (Result, error)) ([]Result, error) {
	folds := make([]int, len(questions))
	for i := range questions {
		folds[i] = foldOf(id(&questions[i]))
	}
	results := make([]Result, len(questions))
	for fold := range Folds {
		var others []Question
		var inFold []int
		for i, f := range folds {
			if f == fold {
				inFold = append(inFold, i)
			} else {
				others = append(others, questions[i])
			}
		}
		if len(inFold) == 0 {
			continue
		}
		if len(others) == 0 {
			return nil, fmt.Errorf(
				"all %d questions are in one fold of %d: there are too few to fit on some and measure on others",
				len(questions), Folds,
			)
		}
		model, err := fit(others)
		if err != nil {
			return nil, fmt.Errorf("fitting without fold %d: %w", fold+1, err)
		}
		for _, i := range inFold {
			results[i], err = apply(model, &questions[i])
			if err != nil {
				return nil, fmt.Errorf("question %s: %w", id(&questions[i]), err)
			}
		}
	}
	return results, nil
}

// inParallel calls do for every number from 0 to n-1 on all processors, in groups of 16. If calls fail, it returns the
// error of the lowest group that failed, and does not call do for the rest of that group. do must only touch what
// belongs to its number.
func inParallel(n int, do func(i int) error) error {
	const share = 16 // of the numbers, taken at a time
	errs := make([]error, (n+share-1)/share)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for at := range errs {
		group.Go(func() error {
			for i := at * share; i < min((at+1)*share, n) && errs[at] == nil; i++ {
				errs[at] = do(i)
			}
			return errs[at]
		})
	}
	if group.Wait() == nil {
		return nil
	}
	return errs[slices.IndexFunc(errs, func(err error) bool { return err != nil })]
}
