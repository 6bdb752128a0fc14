package answering

import (
	"fmt"

	"example.org/conclave/fusion"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/reply"
)

// VerdictFor returns the verdict for a chance that the collection answers. The verdict is VerdictNotFound if there are
// no candidates, VerdictDoubtful where nothing was fitted (isUnjudged), and "" if the chance is nil or the collection
// has no thresholds.
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
	case a.isUnjudged() && a.Plan.Methods[0].WeighsByQuestion():
		j.Verdict = reply.VerdictDoubtful
	}
	return j
}

// MissingVerdictNote returns a note for users on why there is no verdict although the collection has thresholds for
// one, or why it is VerdictDoubtful whatever was found (isUnjudged). It returns "" if there is another verdict, or if
// there are no thresholds.
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
	if a.answerability() == nil || a.Plan.Listed || a.Rankings[0].Answerable != nil || a.Table.Len() == 0 {
		return ""
	}
	if m := a.Plan.Methods[0]; !m.WeighsByQuestion() {
		return fmt.Sprintf("there is no verdict: fusion method %q gives none, and %s does", m.Asked, fusion.MethodGate)
	}
	return "there is no verdict: it is read from the base, words and late interaction, and one of them took no part"
}
