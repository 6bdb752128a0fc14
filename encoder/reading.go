package encoder

import (
	"math"
	"slices"

	"example.org/conclave/encoder/wordpiece"
	"example.org/conclave/models"
)

// passageRead is a passage in the windows in which it is read. The logits of a window
// are select, the starts and the ends: 2·tokens+1 numbers (2·tokens without selection).
type passageRead struct {
	words   []wordpiece.Range // of the text's tokens
	units   []int             // of the text's tokens (unitsOf)
	windows []window
	logits  [][]float32
	cut     bool
}

// window is a row of tokens: n tokens of the text, from the text's token first, lie at
// position at of the row.
type window struct {
	ids          []int32
	first, at, n int
}

// cutWindows cuts a passage into windows of at most `pair` tokens, at most `windows` of them and at least one, for a
// question with the tokens asked; read.cut says that text is left. Neighbours share up to twice as many tokens of the
// text as the longest answer has, so that each answer lies in one with words around it. The logits are still empty. It
// fails if a text cannot be tokenised.
func (x *Reader) cutWindows(asked []int32, p Text, pair, windows int) (read passageRead, err error) {
	m := &x.bundle.Manifest
	squad := m.Reader.Template == models.TemplateSQuAD
	head := slices.Concat([]int32{x.tokenizer.CLS()}, asked, []int32{x.tokenizer.SEP()})
	room := pair - len(head)
	var tail []int32
	if squad {
		tail = []int32{x.tokenizer.SEP()}
		room--
	} else {
		title, err := x.firstPieces(p.Title, m.Reader.MaxTokens.Title)
		if err != nil {
			return read, err
		}
		head = append(append(head, title...), x.tokenizer.SEP())
		room -= len(title) + 1
	}
	stride := room - min(2*m.Reader.LongestSpan, room/2)
	most := room + (windows-1)*stride
	text, words, err := x.tokenizer.Located(p.Text, most+1)
	if err != nil {
		return read, err
	}
	read.cut = len(text) > most
	if read.cut {
		text, words = text[:most], words[:most]
	}
	read.words = words
	read.units = unitsOf(p.Text, words)
	for first := 0; ; first += stride { // once for a passage without text, which is selected by its title
		n := min(room, len(text)-first)
		read.windows = append(read.windows, window{slices.Concat(head, text[first:first+n], tail), first, len(head), n})
		if first+n == len(text) {
			break
		}
	}
	read.logits = make([][]float32, len(read.windows))
	return read, nil
}

// mergeWindows returns the Reading of a passage: the selection of the window that most likely answers, and the best
// spans of all windows. longest is the most tokens of a span.
func (read *passageRead) mergeWindows(longest int) Reading {
	out := Reading{Select: math.Inf(-1), Starts: math.Inf(-1), Ends: math.Inf(-1), Cut: read.cut}
	for i, w := range read.windows {
		logits := read.logits[i]
		tokens := len(w.ids)
		selects := len(logits) > 2*tokens
		starts, ends := logits[len(logits)-2*tokens:len(logits)-tokens], logits[len(logits)-tokens:]
		null := float64(starts[0]) + float64(ends[0])
		end := w.first + w.n
		own := largestSpans(
			starts[w.at:w.at+w.n], ends[w.at:w.at+w.n], longest, read.words[w.first:end], read.units[w.first:end],
		)
		score := -null // where there are no words to answer
		switch {
		case selects:
			score = float64(logits[0])
		case len(own) > 0:
			score = own[0].Score - null
		}
		out.Select = max(out.Select, score)
		out.Starts = logSumExp(out.Starts, starts[w.at:w.at+w.n])
		out.Ends = logSumExp(out.Ends, ends[w.at:w.at+w.n])
		for _, s := range own {
			out.Spans = insertSpan(out.Spans, s)
		}
	}
	return out
}

// largestSpans returns the spans of at most longest tokens within one unit with the largest sums of start and end,
// the largest first and at most bestSpans, one for the same words; of equal ones the first, then the shortest.
// starts, ends, words and units have an entry for each token.
func largestSpans(starts, ends []float32, longest int, words []wordpiece.Range, units []int) (all []Span) {
	for i, start := range starts {
		for j := i; j < min(i+longest, len(ends)) && units[j] == units[i]; j++ {
			score := float64(start) + float64(ends[j])
			if len(all) < bestSpans || score > all[len(all)-1].Score {
				all = insertSpan(
					all, Span{Begin: words[i].Begin, End: words[j].End, Score: score, Start: float64(start)},
				)
			}
		}
	}
	return all
}

// insertSpan returns the spans, sorted by score from the largest, with s at its place, at most bestSpans. Of two
// spans of the same words only the one with the larger score stays. It changes the memory of all.
func insertSpan(all []Span, s Span) []Span {
	same := func(o Span) bool { return o.Begin == s.Begin && o.End == s.End }
	if at := slices.IndexFunc(all, same); at >= 0 {
		if all[at].Score >= s.Score {
			return all
		}
		all = slices.Delete(all, at, at+1)
	}
	at, _ := slices.BinarySearchFunc(all, s, func(o, s Span) int {
		if o.Score >= s.Score {
			return -1
		}
		return 1
	})
	all = slices.Insert(all, at, s)
	return all[:min(len(all), bestSpans)]
}

// logSumExp returns log(exp(sum) + Σ exp(x)) of the numbers x in all; sum itself without numbers.
func logSumExp(sum float64, all []float32) float64 {
	if len(all) == 0 {
		return sum
	}
	largest := sum
	for _, x := range all {
		largest = max(largest, float64(x))
	}
	total := math.Exp(sum - largest)
	for _, x := range all {
		total += math.Exp(float64(x) - largest)
	}
	return largest + math.Log(total)
}
