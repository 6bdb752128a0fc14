package folder

import (
	"context"
	"fmt"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
)

// windowedBatch is a batch of passages as an encoder reads them: long ones in several windows (store.WindowReader).
type windowedBatch struct {
	passages []corpus.Passage
	texts    []corpus.Passage // what is encoded: passages, or windows of them as passages with their text
	spans    [][]rank.Span    // of each passage: its windows; nil: it is encoded as it is; empty: it is left out
}

// windowed returns a batch with the texts to encode: for each passage its windows, if the encoder reads it in several
// (store.WindowsOf), and otherwise the passage itself.
func windowed(encoder store.PassageEncoder, batch []corpus.Passage) windowedBatch {
	w := windowedBatch{passages: batch, spans: make([][]rank.Span, len(batch))}
	for i, p := range batch {
		w.spans[i] = store.WindowsOf(encoder, p)
		if w.spans[i] == nil {
			w.texts = append(w.texts, p)
		}
		for _, s := range w.spans[i] {
			part := p
			part.Text = p.Text[s.Begin:s.End]
			w.texts = append(w.texts, part)
		}
	}
	return w
}

// each calls do, in order, with the index of each passage and the range of its texts in w.texts: from up to, but not
// including, to. It stops at the first error and returns it.
func (w *windowedBatch) each(do func(passage, from, to int) error) error {
	from := 0
	for i := range w.passages {
		to := from + 1
		if w.spans[i] != nil {
			to = from + len(w.spans[i])
		}
		if err := do(i, from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// appendWindowed writes the vectors of a batch, one for each of w.texts. A late or sparse expert's lists of one passage
// become one list; another's vectors become rows of the passage. It fails if the vectors do not fit the expert.
func (f *vectorFile) appendWindowed(w windowedBatch, vectors [][]float32) error {
	if err := f.checkVectors(w.texts, vectors); err != nil {
		return err
	}
	return w.each(func(passage, from, to int) error {
		if f.hasLists() {
			return f.to.Append(slices.Concat(vectors[from:to]...))
		}
		if err := f.appendSpans(w.spans[passage]); err != nil {
			return err
		}
		for _, v := range vectors[from:to] {
			if err := f.to.Append(v); err != nil {
				return err
			}
		}
		return nil
	})
}

// appendSpans writes which rows belong to the next passage: one for each window, or one for the whole passage if
// spans is nil. It fails if the file cannot be written, or the expert has no file of parts.
func (f *vectorFile) appendSpans(spans []rank.Span) error {
	if spans != nil {
		f.windowed = true
	} else {
		spans = []rank.Span{{}}
	}
	if f.parts == nil {
		return fmt.Errorf("expert %s has no file for windows of passages", f.expert.Name)
	}
	return f.parts.Append(spans)
}

// encodeChunks returns an encoder's vectors of texts, encoded at most so many at a time. It fails if the encoder does
// or returns another number of vectors.
func encodeChunks(
	ctx context.Context,
	encoder store.PassageEncoder,
	texts []corpus.Passage,
	most int,
) (vectors [][]float32, err error) {
	for some := range slices.Chunk(texts, most) {
		made, err := encoder.EncodePassages(ctx, some)
		if err == nil && len(made) != len(some) {
			err = fmt.Errorf("the encoder gave %d vectors for %d passages", len(made), len(some))
		}
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, made...)
	}
	return vectors, nil
}

// windowsIn returns the spans of a passage's rows; nil if it has one row, for the whole passage (appendSpans), and an
// empty slice that is not nil if it has none.
func windowsIn(spans []rank.Span) []rank.Span {
	if len(spans) == 1 && spans[0] == (rank.Span{}) {
		return nil
	}
	return append([]rank.Span{}, spans...)
}
