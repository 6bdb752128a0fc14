// Package questions reads questions and judgements in the formats that people have:
// JSON Lines, DPR's csv, BEIR folders, TREC topics.
package questions

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
)

// Question is a question with what is known about its answer.
type Question struct {
	ID          string             // unique in its domain
	Text        string             // what is asked
	Before      []string           // what its user asked before in the same conversation, the last one last
	Answers     []string           // answer strings, or patterns
	PositiveIDs []string           // relevant passages
	Grades      map[string]float64 // by passage; above 0 is relevant
	// The file says that nothing in the collection answers it.
	Unanswerable bool
	// Drawn are the words of a generated question that are from a text, or are made as if they were: a passage that has
	// all of them answers. "": the question was not generated.
	Drawn  string
	Domain string
	Place  string // file and line, for messages
}

// Judgements has the grades of passages for one question, by passage id. A passage that is missing or has a grade of 0
// or less is not relevant.
type Judgements map[string]float64

// Answering returns the ids of the relevant passages, sorted; nil if there are none.
func (j Judgements) Answering() (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(j)) {
		if j[id] > 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// Relevant returns the number of relevant passages.
func (j Judgements) Relevant() int {
	n := 0
	for _, grade := range j {
		if grade > 0 {
			n++
		}
	}
	return n
}

// Judgements returns the question's own grades, not a copy, or, if it has none, grade 1 for each positive passage.
func (q *Question) Judgements() Judgements {
	if len(q.Grades) > 0 {
		return q.Grades
	}
	j := make(Judgements, len(q.PositiveIDs))
	for _, id := range q.PositiveIDs {
		j[id] = 1
	}
	return j
}

// Sample returns n of the questions, in their order: those whose ids have the smallest hashes. So a smaller sample
// is a part of a larger one, and the order of a file does not matter. It returns questions itself if n is 0 or less
// or there are no more.
func Sample(questions []Question, n int) []Question {
	if n <= 0 || n >= len(questions) {
		return questions
	}
	order := make([]int, len(questions))
	keys := make([]uint64, len(questions))
	for i := range questions {
		sum := sha256.Sum256([]byte(questions[i].ID))
		keys[i] = binary.BigEndian.Uint64(sum[:])
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b)) })
	chosen := order[:n]
	slices.Sort(chosen)
	out := make([]Question, n)
	for i, at := range chosen {
		out[i] = questions[at]
	}
	return out
}
