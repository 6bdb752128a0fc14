package generators

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// draft is an answer that is being written. Text that was passed to the watcher never changes: the first sentence is
// passed when it is complete, and so are the citations of each other one. A sentence is compared with the passages when
// the next one has begun, and is final then. If another passage supports it than it cites, its citations are corrected.
type draft struct {
	watching  Watching
	reasoning reasoningFilter
	citations citationReader
	against   *comparison
	drop      bool
	form      bool   // the answer is JSON: the watcher gets it when it is whole, and it is not compared
	all       string // that the model wrote as an answer
	done      int    // bytes of it that are of sentences that were compared
	reported  int    // bytes of it that the watcher got, or that were left out
	kept      strings.Builder
	sentences,
	dropped []Sentence
	// answers: there is a sentence that does not say that there is no answer. Until then nothing is told.
	answers bool
}

// newDraft returns an empty draft of an answer to a. With drop, sentences that no passage supports are left out; with
// reasoning, nothing counts as the answer until the model's reasoning has ended. Functions of w may be nil.
func newDraft(a Asking, drop, reasoning bool, w Watching) *draft {
	if w.Text == nil {
		w.Text = func(string) {}
	}
	if w.Sentence == nil {
		w.Sentence = func(Sentence) {}
	}
	return &draft{
		watching: w, reasoning: reasoningFilter{waits: reasoning}, citations: citationReader{passages: len(a.Passages)},
		against: newComparison(a.Question, a.Passages), drop: drop,
		form: a.Form != nil,
	}
}

// addPiece appends the next piece of the model's text, and handles each sentence that is now complete. It handles none
// while the text may still become a refusal.
func (d *draft) addPiece(piece string) {
	if d.form {
		d.all += d.reasoning.filterPiece(piece, false)
		return
	}
	d.all += d.citations.rewritePiece(d.reasoning.filterPiece(piece, false), false)
	if mayRefuse(d.all) || mayRefuse(lastLine(d.all[d.done:])) {
		return
	}
	for {
		spans := sentencesOf(d.all[d.done:])
		if len(spans) == 0 {
			return
		}
		if len(spans) < 2 || !isWhole(d.all[d.done+spans[1].begin:]) {
			if !d.drop && d.answers {
				d.reportUntil(d.done + spans[0].end)
			}
			return
		}
		d.takeSentence(spans[0], false)
	}
}

// takeSentence compares the next sentence, which lies at a place of the text after done, with the passages and moves
// done behind it. If drop is set, it was compared and no passage supports it, it is appended to dropped. Otherwise it
// is kept, and the watching functions are called, with the right citation if it had none or another; not while all
// sentences say that there is no answer. With cut, the answer ends within the sentence, which is then not compared.
func (d *draft) takeSentence(at span, cut bool) {
	rest := d.all[d.done:]
	sentence := d.against.compareSentence(rest, at, cut)
	end, until := d.done+at.end, d.done+at.until
	d.done = until
	if d.drop && !sentence.Supported && sentence.Unchecked == "" {
		d.reported = until + len(rowEnd.FindString(rest[at.until:]))
		d.done = d.reported
		d.dropped = append(d.dropped, sentence)
		return
	}
	d.sentences = append(d.sentences, sentence)
	d.answers = d.answers || sentence.Unchecked != NoAnswer
	if !d.answers {
		return
	}
	if !sentence.Attributed {
		d.reportUntil(until)
	} else {
		d.reportUntil(end)
		stop := strings.TrimSpace(cited.ReplaceAllString(d.all[end:until], ""))
		d.writePiece(fmt.Sprintf(" [%d]%s", sentence.Passages[0]+1, stop))
		d.reported = until
	}
	d.watching.Sentence(sentence)
}

// rowEnd matches the outer bar at the end of a row of a table.
var rowEnd = regexp.MustCompile(`^[ \t]*\|`)

// reportUntil passes the text up to a byte to the watcher; nothing if it was passed already.
func (d *draft) reportUntil(until int) {
	if until <= d.reported {
		return
	}
	piece := d.all[d.reported:until]
	d.reported = until
	d.writePiece(piece)
}

// writePiece appends a piece to the kept text and calls the watcher with all of it. White space at the beginning of the
// text is left out.
func (d *draft) writePiece(piece string) {
	if d.kept.Len() == 0 {
		piece = strings.TrimLeft(piece, " \t\r\n")
	}
	if piece == "" {
		return
	}
	d.kept.WriteString(piece)
	d.watching.Text(d.kept.String())
}

// endDraft handles the sentences that are left and sets w to the answer, or to a refusal. complete reports whether the
// model ended the answer by itself. A text that is nothing but a refusal, or ends with one, makes w.Refused true and
// leaves w.Text empty.
func (d *draft) endDraft(w *Written, complete bool) {
	if d.form {
		d.all += d.reasoning.filterPiece("", true)
		w.Refused = isRefusal(d.all)
		if !w.Refused {
			w.Text = withoutFences(d.all)
		}
		return
	}
	d.all += d.citations.rewritePiece(d.reasoning.filterPiece("", true), true)
	if isRefusal(d.all) || isRefusal(lastLine(d.all)) {
		w.Refused = true
		return
	}
	for {
		spans := sentencesOf(d.all[d.done:])
		if len(spans) == 0 {
			break
		}
		cut := !complete && len(spans) == 1 && !endsSentence(d.all)
		d.takeSentence(spans[0], cut)
	}
	if len(d.sentences) > 0 && !d.answers {
		w.Refused = true
		return
	}
	if !d.drop || len(d.dropped) == 0 {
		d.reportUntil(len(d.all))
	}
	w.Text = strings.TrimSpace(d.kept.String())
	w.Sentences, w.Dropped = d.sentences, d.dropped
}

// fence matches a text that stands as a block of code.
var fence = regexp.MustCompile("(?s)^```[a-z]*\n(.*?)\n?```$")

// withoutFences returns JSON without the fences of a block of code around it.
func withoutFences(text string) string {
	text = strings.TrimSpace(text)
	if inner := fence.FindStringSubmatch(text); inner != nil {
		return strings.TrimSpace(inner[1])
	}
	return text
}

// endsSentence reports whether a text ends with the end of a sentence or of a row of a table.
func endsSentence(text string) bool {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(".!?…。！？|]\"”’)", last)
}

// lastLine returns the last line of a text that has a letter or a digit; "" if none has.
func lastLine(text string) string {
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		if strings.ContainsFunc(line, isWordRune) {
			return line
		}
	}
	return ""
}

// isRefusal reports whether a text is the refusal that the model is asked to write if the passages do not answer, or
// begins with it.
func isRefusal(text string) bool {
	text = bareText(text)
	rest, begins := strings.CutPrefix(text, refusal)
	return strings.EqualFold(text, refusal) || begins && !isWordRune([]rune(rest)[0])
}

// mayRefuse reports whether a text is a refusal, or may become one when more of it has come.
func mayRefuse(text string) bool {
	text = bareText(text)
	return isRefusal(text) || len(text) <= len(refusal) && strings.EqualFold(text, refusal[:len(text)])
}

// bareText returns a text without citations, and without white space and punctuation around it.
func bareText(text string) string {
	return strings.TrimFunc(cited.ReplaceAllString(text, ""), func(r rune) bool { return !isWordRune(r) })
}
