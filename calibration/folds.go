package calibration

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

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

// crossFit applies to each question what was fitted on the questions of the
// other folds, and returns the results in the order of the questions. id is a
// question's id.
func crossFit[Question, Model, Result any](questions []Question, id func(*Question) string,
	fit func(others []Question) (Model, error), apply func(Model, *Question) (Result, error)) ([]Result, error) {
	folds := make([]int, len(questions))
	for i := range questions {
		folds[i] = foldOf(id(&questions[i]))
	}
	results := make([]Result, len(questions))
	for fold := range Folds {
		var others []Question
		var held []int
		for i, f := range folds {
			if f == fold {
				held = append(held, i)
			} else {
				others = append(others, questions[i])
			}
		}
		if len(held) == 0 {
			continue
		}
		if len(others) == 0 {
			return nil, fmt.Errorf(
				"all %d questions are in one fold of %d: there are too few to fit on some and measure on others",
				len(questions),
				Folds,
			)
		}
		model, err := fit(others)
		if err != nil {
			return nil, fmt.Errorf("fitting without fold %d: %w", fold+1, err)
		}
		for _, i := range held {
			results[i], err = apply(model, &questions[i])
			if err != nil {
				return nil, fmt.Errorf("question %s: %w", id(&questions[i]), err)
			}
		}
	}
	return results, nil
}
