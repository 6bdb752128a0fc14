package generators

import "strings"

// draft is an answer while it is written. What is told of it never changes: a sentence is compared
// with the passages when the next one has begun, and is not looked at again.
type draft struct {
	watching Watching
	against  *passageWords
	drop     bool
	all      string // that the model wrote
	done     int    // bytes of it that are of whole sentences
	told     int    // bytes of all that were told
	kept     strings.Builder
	sentences,
	dropped []Sentence
}

func newDraft(passages []Passage, drop bool, w Watching) *draft {
	if w.Text == nil {
		w.Text = func(string) {}
	}
	if w.Sentence == nil {
		w.Sentence = func(Sentence) {}
	}
	return &draft{watching: w, against: wordsOf(passages), drop: drop}
}

// add appends what came of the answer.
func (d *draft) add(piece string) {
	d.all += piece
	if refuses(d.all) {
		return
	}
	for {
		spans := sentencesOf(d.all[d.done:])
		if len(spans) < 2 || !beginsSentence(d.all[d.done+spans[1].begin:]) {
			break
		}
		d.take(spans[0], d.done+spans[0].until)
	}
	if !d.drop && !mayRefuse(d.all) {
		d.tell(len(d.all))
	}
}

// take compares a sentence, which ends with its citations before until.
func (d *draft) take(s span, until int) {
	sentence := d.against.check(d.all[d.done:], s)
	d.done = until
	switch {
	case sentence.Supported || !d.drop:
		d.tell(until)
		d.sentences = append(d.sentences, sentence)
		d.watching.Sentence(sentence)
	default:
		d.told = until
		d.dropped = append(d.dropped, sentence)
	}
}

// tell tells what is written up to a byte.
func (d *draft) tell(until int) {
	if until <= d.told {
		return
	}
	piece := d.all[d.told:until]
	if d.kept.Len() == 0 {
		piece = strings.TrimLeft(piece, " \t\r\n")
	}
	d.told = until
	if piece == "" {
		return
	}
	d.kept.WriteString(piece)
	d.watching.Text(d.kept.String())
}

// end compares what is left, and says what was written.
func (d *draft) end(w *Written) {
	if refuses(d.all) {
		w.Refused = true
		return
	}
	for {
		spans := sentencesOf(d.all[d.done:])
		if len(spans) == 0 {
			break
		}
		d.take(spans[0], d.done+spans[0].until)
	}
	if !d.drop {
		d.tell(len(d.all))
	}
	w.Text = strings.TrimSpace(d.kept.String())
	w.Sentences, w.Dropped = d.sentences, d.dropped
}

// refuses reports whether an answer begins with saying that there is none.
func refuses(text string) bool {
	text = bare(text)
	rest, begins := strings.CutPrefix(text, refusal)
	return strings.EqualFold(text, refusal) || begins && !wordy([]rune(rest)[0])
}

// mayRefuse reports whether what came of an answer may become one that refuses.
func mayRefuse(text string) bool {
	text = bare(text)
	return refuses(text) || len(text) <= len(refusal) && strings.EqualFold(text, refusal[:len(text)])
}

// bare returns a text without citations, and without white space and punctuation around it.
func bare(text string) string {
	return strings.TrimFunc(cited.ReplaceAllString(text, ""), func(r rune) bool { return !wordy(r) })
}
