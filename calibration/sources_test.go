package calibration

import (
	"testing"

	"example.org/conclave/fusion"
)

// TestSourceChance: a specialist that is right at home and wrong elsewhere is
// told apart by its familiarity, on questions of other folds; noise is not.
func TestSourceChance(t *testing.T) {
	questions := planted(t, 400, 8)
	for i := range questions {
		fusion.Rivals(questions[i].Sources)
	}
	specialist, err := fitSourceChance(questions, 0)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for n := range questions {
		q := &questions[n]
		own, err := fusion.Sum(q.Table, []fusion.Source{{Column: 0, Weight: 1}}, fusion.LinearOptions{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if answers := q.Relevant[own.Items[0].Ordinal] > 0; answers != specialist.Outcomes[n].Correct {
			t.Fatalf("question %d: its first hit answers: %v, it says %v", n, answers, specialist.Outcomes[n].Correct)
		} else if answers {
			right++
		}
	}
	if specialist.Kind != fusion.Specialist || len(specialist.Outcomes) != 400 || right < 100 ||
		*specialist.HeldOut.AUROC < .9 ||
		specialist.HeldOut.ECE > .06 {
		t.Errorf(
			"%s: %d questions, %d right, AUROC %.3f, ECE %.3f",
			specialist.Kind,
			len(specialist.Outcomes),
			right,
			*specialist.HeldOut.AUROC,
			specialist.HeldOut.ECE,
		)
	}
	words, err := fitSourceChance(questions, 3)
	if err != nil || words.Kind != fusion.Lexical || *words.HeldOut.AUROC > .7 {
		t.Errorf("noise: %s, AUROC %.3f, %v", words.Kind, *words.HeldOut.AUROC, err)
	}

	for i := range questions {
		questions[i].Sources = questions[i].Sources[:3]
	}
	if none, err := fitSourceChance(questions, 0); err != nil || none.Outcomes != nil {
		t.Errorf("without words: %d questions, %v", len(none.Outcomes), err)
	}
}

// TestSourceRecordCheck: a record of other signals than these is of another
// version.
func TestSourceRecordCheck(t *testing.T) {
	questions := planted(t, 60, 9)
	fit, err := fitSourceChance(questions, 2)
	if err != nil {
		t.Fatal(err)
	}
	r := SourceRecord{Name: "g", Kind: fit.Kind, Chance: fit.Confidence}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	r.Kind = fusion.Specialist
	if err := r.Check(); err == nil {
		t.Error("a generalist's chance passed for a specialist's")
	}
	r.Chance.K = 0
	if err := r.Check(); err == nil {
		t.Error("a broken chance was accepted")
	}
}
