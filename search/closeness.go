package search

import (
	"fmt"
	"math"

	"conclave/fusion"
	"conclave/rank"
)

// randomPassages is how many passages a question is compared with to see what
// closeness is worth in this collection: the mean of so many scores is known to a
// tenth of their deviation, for a fraction of a millisecond.
const randomPassages = 128

// randomScores is what a source scores passages that have nothing to do with the
// question: such as lie evenly in the collection, so that the same question gets
// the same ones. Ordinals is what every ordinal is below.
func (f *finding) randomScores(ordinals int) []rank.Hit {
	n := min(randomPassages, ordinals)
	if n == 0 || f.vectors == nil {
		return nil
	}
	passages, scores := make([]rank.Ordinal, n), make([]float32, n)
	for i := range passages {
		passages[i] = rank.Ordinal((2*i + 1) * ordinals / (2 * n))
	}
	f.vectors.Scores(f.vector, passages, scores)
	hits := make([]rank.Hit, 0, n)
	for i, s := range scores {
		if !math.IsNaN(float64(s)) {
			hits = append(hits, rank.Hit{Ordinal: passages[i], Score: s})
		}
	}
	return hits
}

// wordCounter is an encoder that says how much of a question it can read: the
// number of words, of those that its vocabulary has whole, and of those that it
// cannot read at all.
type wordCounter interface {
	KnownWords(text string) (words, whole, unknown int)
}

// readerOf is the first expert that is no specialist and counts words; nil where
// none does.
func readerOf(experts []Expert) *Expert {
	for i := range experts {
		if _, ok := experts[i].Encoder.(wordCounter); ok && len(experts[i].Representatives) == 0 {
			return &experts[i]
		}
	}
	return nil
}

// knownWords is the share of the question's words that the encoders know, 0 where
// there are none, and a note for people when they cannot read most of it.
func (e *lineUp) knownWords(question string) (share float64, note string) {
	if e.reader == nil {
		return 0, ""
	}
	words, whole, unknown := e.reader.Encoder.(wordCounter).KnownWords(question)
	if words == 0 {
		return 0, ""
	}
	if 2*unknown > words {
		note = fmt.Sprintf("%s cannot read %d of the question's %d words: they are in a script or of characters that it was not trained on (the shipped encoders read English), so that the answer is little more than chance", e.reader.Name, unknown, words)
	}
	return float64(whole) / float64(words), note
}

// asFitted reports whether the sources that answered are those that the chances
// were fitted for.
func (d *Defaults) asFitted(observed []fusion.Observed) bool {
	return d.ChancesBasis != BasisShipped || fusion.Closeness(observed)
}
