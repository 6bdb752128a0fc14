package answering

import (
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/wording"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
)

// VerdictFor returns the verdict for a chance that the collection answers. The verdict is VerdictNotFound if there are
// no candidates, VerdictDoubtful where nothing was fitted (isUnjudged, unreadBy), and "" if the chance is nil or the
// collection has no thresholds.
func (a *Answer) VerdictFor(chance *float64) (j reply.Judged) {
	by := a.answerability()
	if a.judgedBy != nil {
		by = a.judgedBy
	}
	switch {
	case a.Table.Len() == 0:
		j.Verdict = reply.VerdictNotFound
	case by != nil && chance != nil:
		j.Answerable = run.PrintedOf(chance)
		j.Thresholds = &by.Thresholds
		j.Verdict = by.Of(*j.Answerable)
	case a.Plan.Methods[0].WeighsByQuestion() && (a.isUnjudged() || len(a.unreadBy()) > 0):
		j.Verdict = reply.VerdictDoubtful
	}
	return j
}

// MissingVerdictNote returns a note for users on why there is no verdict although the collection has thresholds for
// one, or why it is VerdictDoubtful whatever was found (isUnjudged, unreadBy). It returns "" if there is another
// verdict, or if there are no thresholds.
func (a *Answer) MissingVerdictNote() string {
	if a.isUnjudged() && !a.Plan.Listed && a.Table.Len() > 0 && a.Plan.Methods[0].WeighsByQuestion() {
		asked, passages := a.Found.LanguageNames()
		if a.Found.OwnLanguage() {
			return fmt.Sprintf("the verdict is doubtful at most: nothing was fitted to questions in %s", asked)
		}
		return fmt.Sprintf(
			"the verdict is doubtful at most: nothing was fitted to questions in %s about passages in %s", asked, passages,
		)
	}
	if by := a.unreadBy(); len(by) > 0 && !a.Plan.Listed && a.Plan.Methods[0].WeighsByQuestion() {
		reads := "does not read"
		if len(by) > 1 {
			reads = "do not read"
		}
		return fmt.Sprintf("the verdict is doubtful at most: %s %s the language of the first passage, and nothing was "+
			"fitted without", wording.List(by), reads)
	}
	if a.answerability() == nil || a.Plan.Listed || a.Rankings[0].Answerable != nil || a.Table.Len() == 0 {
		return ""
	}
	if m := a.Plan.Methods[0]; !m.WeighsByQuestion() {
		return fmt.Sprintf("there is no verdict: fusion method %q gives none, and %s does", m.Asked, fusion.MethodGate)
	}
	return "there is no verdict: it is read from the base, words and late interaction, and one of them took no part"
}

// unreadBy returns the names of the experts whose score of the first passage is an estimate, since they do not read its
// language, if the chance that it answers is not known for that reason; nil otherwise.
func (a *Answer) unreadBy() (names []string) {
	if len(a.Rankings) == 0 || a.answerability() == nil {
		return nil
	}
	first := &a.Rankings[0]
	if len(first.Items) == 0 || first.Answerable != nil {
		return nil
	}
	for _, part := range first.Items[0].Parts {
		if part.Origin == fusion.FromEstimate {
			names = append(names, a.Findings[part.Column].Source.Name())
		}
	}
	return names
}
