package answering

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/internal/answering/grounds"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// MarkAnswers lets the reader mark answers in the first passages, and sets a.Extracts, the order of these passages and
// the confidences by what it says. If the reader fails or runs out of time, there are no extracts, and a note under
// Degraded says so. It does not ask the reader about a question of one word or in a script that it was not trained on,
// nor about passages in a language that it does not read; beside those, order and confidences stay as they are.
// It fails if a passage cannot be read from the collection. It adds the number of passages that were read only in part
// to a.ReadPartly.
func (a *Answer) MarkAnswers(ctx context.Context) error {
	a.Extracts = []reply.Extract{}
	reader := a.Plan.Reader
	// Behind the messages before it, it would find the answer to these again.
	words, _, unknown := reader.KnownWords(a.Found.Inquiry.Question)
	if !a.Found.Reads(reader.Languages) {
		a.Notes = append(a.Notes, reader.Name+" does not read the language of the question or of the passages: it marks no words")
		return nil
	}
	if words < 2 || 2*unknown > words || len(a.ToRead) == 0 {
		return nil // one word asks nothing; or the reader was not trained on the question's script
	}
	first := min(a.Plan.Marked, len(a.ToRead))
	toWrite := a.ToRead[first:]
	var passages []corpus.Passage
	var err error
	a.ToRead, passages, err = a.Texts(ctx, a.ToRead[:first])
	defer func() { a.ToRead = append(slices.Clone(a.ToRead), toWrite...) }()
	if err != nil || len(passages) == 0 {
		return err
	}
	within, cancel := leaveTimeToFetch(ctx)
	defer cancel()
	readings, all, err := a.readPassagesBy(within, reader, passages)
	if err != nil {
		a.noteUnanswered(ctx, err)
		return nil
	}
	for _, r := range readings {
		if r.Cut {
			a.ReadPartly++
		}
	}
	read := extract.Read{Passages: passages, Readings: readings}
	if all && a.ranksByReader() {
		a.rankBy(&read, first)
	}
	a.Extracts = a.extract(ctx, &read)
	a.read = read.Passages
	if all && len(a.Rankings[0].Items) > 0 && a.Plan.Methods[0].WeighsByQuestion() {
		a.setChancesByReader(&read)
	}
	return nil
}

// readPassagesBy returns the reader's readings of the passages, in their order. One of a passage in a language that it
// does not read is as that of an empty text, and all is false then. It fails if the reader does or ctx ends.
func (a *Answer) readPassagesBy(
	ctx context.Context,
	reader *learned.LoadedReader,
	passages []corpus.Passage,
) (readings []learned.ReadResult, all bool, err error) {
	var read []corpus.Passage
	var at []int // their places in passages
	for i := range passages {
		if a.Found.ReadsPassage(reader.Languages, &passages[i]) {
			read, at = append(read, passages[i]), append(at, i)
		}
	}
	nothing := math.Inf(-1)
	readings = slices.Repeat([]learned.ReadResult{{Select: nothing, Starts: nothing, Ends: nothing}}, len(passages))
	if len(read) == 0 {
		a.Notes = append(a.Notes, reader.Name+" does not read the language of the passages: it marks no words")
		return readings, false, nil
	}
	err = run.Guard(func() error {
		own, err := reader.Read(ctx, a.Found.Inquiry.Question, read)
		if err == nil && len(own) != len(read) {
			err = fmt.Errorf("the reader read %d passages of %d", len(own), len(read))
		}
		if err != nil {
			return err
		}
		for i := range own {
			readings[at[i]] = own[i]
		}
		return nil
	})
	return readings, len(read) == len(passages), err
}

// setChancesByReader replaces the chance that the collection answers, and the confidence, by those with the reader, if
// its calibration has them. It keeps those that were calibrated for other signals.
func (a *Answer) setChancesByReader(read *extract.Read) {
	reader := a.Plan.Reader
	r := &a.Rankings[0]
	if by := reader.Answerability; by != nil && r.Answerable != nil {
		if chance, err := by.Chance.Of(read.Signals(*r.Answerable)); err == nil {
			if a.mayAnswerEarlier(*r.Answerable) && by.Of(chance) == reply.VerdictFound {
				chance = by.Doubtful
				a.Notes = append(a.Notes, "this may answer what was asked before, and not the last question")
			}
			r.Answerable = &chance
			a.judgedBy = by
			defer CapByVerdict(r, by)
		}
	}
	if reader.Confidence == nil || r.Confidence == nil {
		return
	}
	if sure, err := reader.Confidence.Of(read.Signals(*r.Confidence)); err == nil {
		r.Confidence = &sure
		if r.Any != nil {
			r.Any = run.Ptr(max(*r.Any, sure))
		}
	}
}

// mayAnswerEarlier reports whether what the reader marked may answer an earlier question of the conversation instead of
// the last one: there are earlier messages, and the verdict on chance is not VerdictFound. chance is the chance,
// without the reader, that the collection answers.
func (a *Answer) mayAnswerEarlier(chance float64) bool {
	by := a.answerability()
	return len(a.Found.Inquiry.Before) > 0 && by != nil && by.Of(chance) != reply.VerdictFound
}

// ranksByReader reports whether the reader's scores change the order of the first passages. They do if the reader has a
// fitted weight and the first method weighs sources by question, unless the reader is also the reranker
// (Plan.ReadTwice).
func (a *Answer) ranksByReader() bool {
	return a.Plan.Reader != nil && a.Plan.Reader.Ranking > 0 && a.Plan.Methods[0].WeighsByQuestion() && !a.Plan.ReadTwice()
}

// readsForConfidence reports whether the reader's signals are to replace the confidence of the first ranking. That
// needs a reader that is calibrated for it, a first method that weighs sources by question, and a ranking with items
// and a confidence.
func (a *Answer) readsForConfidence() bool {
	reader := a.Plan.Reader
	first := &a.Rankings[0]
	return reader != nil && reader.Confidence != nil && a.Plan.Methods[0].WeighsByQuestion() &&
		first.Confidence != nil &&
		len(first.Items) > 0
}

// rankBy orders the passages that were read by the sum of their scores and the reader's. It sets a.ToRead to them, and
// puts them in the first ranking in the place of its first items. `first` is the number of those items; some may have
// been deleted and are left out. Each item notes the reader's contribution to its score. It reorders the lists in read
// in the same way.
func (a *Answer) rankBy(read *extract.Read, first int) {
	scores, selections := make([]float64, len(a.ToRead)), make([]float64, len(a.ToRead))
	for i, item := range a.ToRead {
		scores[i], selections[i] = item.Score, read.Readings[i].Select
	}
	x := a.Plan.Reader
	raised := a.addModelScores(a.ToRead, selections, 1/x.Ranking, x.Name, reply.OriginRead)
	ranked := make([]fusion.Item, len(a.ToRead))
	for n, at := range read.Weigh(scores, x.Ranking) { // the readings, and in their order the passages
		ranked[n] = raised[at]
	}
	a.ToRead = slices.Clone(ranked)
	items := &a.Rankings[0].Items
	ranked = append(ranked, (*items)[min(first, len(*items)):]...)
	*items = ranked[:min(len(ranked), len(*items))]
}

// leaveTimeToFetch returns a context that ends before ctx does, by the time that fetching the texts takes: half of what
// is reserved after the sources. Without a deadline the context ends with ctx. The caller has to call the function that
// is returned.
func leaveTimeToFetch(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-min(time.Until(end)/run.Reserved, run.ReservedMost/2)))
}

// noteUnanswered adds a note to a.Degraded that the reader failed with cause or was too late, so that no answers are
// marked, and records cause in the run's report (noteMissingModel).
func (a *Answer) noteUnanswered(ctx context.Context, cause error) {
	a.noteMissingModel(ctx, a.Plan.Reader.Name, cause, "read the passages", "no answers are marked")
}

// noteMissingModel adds a note to a.Degraded that the model with this name gave no result, and records cause in the
// run's report. cause decides between failed, out of time and overloaded. The note's text is made from done and so: "it
// had not DONE in time, so SO", such as "scored the passages" and "they are ranked without it".
func (a *Answer) noteMissingModel(ctx context.Context, name string, cause error, done, so string) {
	status := reply.StatusFailed
	reason := "it failed, so " + so + "; the server's log says why"
	switch advice := run.AdviceOf(cause); {
	case advice != "":
		reason = advice
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(cause, context.Canceled):
		reason = fmt.Sprintf(
			"it had not %s in time, so %s (timeout_ms is %d)", done, so, a.Found.Inquiry.Timeout.Milliseconds(),
		)
		status = reply.StatusDeadline
	case run.Overloaded(cause):
		status = reply.StatusOverloaded
		reason = "its queue is full, so " + so + "; try again in a moment"
	}
	a.Found.Panel.Run.Report.Source(ctx, name, status, cause)
	a.Degraded = append(a.Degraded, reply.Missing{Source: name, Reason: reason})
}

// Chances of marked answers. Those of rows and cells are not fitted: they are below the share that was right in a
// measurement (docs/evidence/reliability.md).
const (
	headlineChance = .5 // the least chance of an extract that is shown as the headline
	cellChance     = .9 // that a cell is right if its column is known
	rowChance      = .8 // that a row is right
)

// extractOf returns a table row of passage p as an extract: the cell that answers, or the whole row if that is not
// known. known says whether extracts have a chance.
func extractOf(row grounds.Row, p *corpus.Passage, known bool) reply.Extract {
	out := reply.Extract{
		Passage: p.ID, Start: row.Begin, End: row.End, Reading: row.Passage,
		Row: &reply.TableRow{Header: row.Header, Cells: row.Cells},
	}
	chance := rowChance
	if row.CellEnd > row.CellBegin {
		out.Start, out.End = row.CellBegin, row.CellEnd
		out.Row.Column = &row.Column
		out.Headline = true
		chance = cellChance
	}
	out.Text = p.Text[out.Start:out.End]
	if known {
		out.Chance = &chance
	}
	return out
}

// extract returns the extracts with a sufficient chance (sureEnough): the answers that the reader marked and, before
// them, the table row of the first document that says most of the question. It sets which can be shown as the headline,
// and their places and positions in the plan's unit. read must have a passage.
func (a *Answer) extract(ctx context.Context, read *extract.Read) []reply.Extract {
	texts := make([]string, len(read.Passages))
	for i := range read.Passages {
		texts[i] = read.Passages[i].Text
	}
	function := a.Rules.Words.FunctionWordsOf(ctx, a.Found.View, a.Found.Inquiry.Question)
	grounding := grounds.Find(a.Found.Inquiry.Question, function, texts)
	all := extract.Extracts(
		read.Passages, read.Readings, a.Plan.Answer.Combine, a.Rankings[0].Confidence, a.Plan.Reader.Chance,
	)
	for i := range all {
		e := &all[i]
		e.Headline = (e.Chance == nil || *e.Chance >= headlineChance) && grounding.Support(e.Reading, e.Start, e.End)
	}
	first := reply.PlaceOf(&read.Passages[0]).Document
	ofFirst := func(i int) bool {
		other := reply.PlaceOf(&read.Passages[i]).Document
		return i == 0 || first != nil && other != nil && other.ID == first.ID
	}
	if row, ok := grounding.Row(ofFirst); ok {
		all = slices.DeleteFunc(all, func(e reply.Extract) bool { return e.Reading == row.Passage })
		all = slices.Insert(all, 0, extractOf(row, &read.Passages[row.Passage], a.Plan.Reader.Chance != nil))
	}
	all = slices.DeleteFunc(all, func(e reply.Extract) bool { return !a.sureEnough(e.Chance) })
	for i := range all {
		p := &read.Passages[all[i].Reading]
		all[i].Collection = a.Found.View.CollectionOf(a.ToRead[all[i].Reading].Ordinal)
		all[i].Place = reply.PlaceOf(p)
		all[i].At = reply.PlaceOfByte(p, all[i].Start, a.Plan.Offsets)
	}
	extract.CountExtracts(a.Plan.Offsets, all, read.Passages)
	return all
}

// sureEnough reports whether the chance of an extract is at least the request's minimum, or usualChance if the request
// sets none. An extract without a chance (nil) is sure enough unless a minimum above 0 is set.
func (a *Answer) sureEnough(chance *float64) bool {
	least := a.Plan.Answer.MinChance
	switch {
	case chance == nil:
		return least == nil || *least == 0
	case least == nil:
		return *chance >= usualChance
	}
	return *chance >= *least
}
