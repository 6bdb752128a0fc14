package main

import (
	"encoding/json"
	"os"

	"conclave/calibration"
)

// calibratedJSON is what `conclave calibrate --json` writes: what it prints,
// for programs. Shares and chances are 0 to 1; an AUROC is null when all
// answers are right, or all wrong.
type calibratedJSON struct {
	Questions   int            `json:"questions"`
	Without     int            `json:"questions_without_answer"` // the same once more, their passages taken out, and unanswerable ones
	Specialists int            `json:"specialists"`
	Auto        string         `json:"auto"`
	Alpha       float64        `json:"alpha"`
	Methods     []methodJSON   `json:"methods"`
	Chances     []chanceJSON   `json:"chances"`
	Sources     []sourceJSON   `json:"sources"`
	Ensembles   []ensembleJSON `json:"ensembles"`
}

type methodJSON struct {
	Name   string  `json:"name"`
	Method string  `json:"method"`
	Top1   float64 `json:"top1"`
	Top5   float64 `json:"top5"`
	Top20  float64 `json:"top20"`
	Top100 float64 `json:"top100"`
}

// chanceJSON is the chance that any of the first k passages answers.
type chanceJSON struct {
	K          int      `json:"k"`
	Kind       string   `json:"kind"`
	Reason     string   `json:"reason"`
	ECE        float64  `json:"ece"` // over questions with an answer and without
	AUROC      *float64 `json:"auroc"`
	Given      float64  `json:"right_given_at_half"`    // of the right answers, those with a confidence of at least 0.5
	Silent     float64  `json:"without_silent_at_half"` // of the questions without an answer, those below
	Accuracy   float64  `json:"accuracy"`               // over questions with an answer
	SurestHalf float64  `json:"accuracy_of_surest_half"`
}

type sourceJSON struct {
	Name  string    `json:"name"`
	ECE   float64   `json:"ece"`
	AUROC *float64  `json:"auroc"`
	Home  *homeJSON `json:"home,omitempty"`
}

type homeJSON struct {
	Questions int      `json:"questions"`
	ECE       float64  `json:"ece"`
	Bound     float64  `json:"ece_of_a_perfect_one"` // 95 of 100 are below
	AUROC     *float64 `json:"auroc"`
	MUFECE    *float64 `json:"muf_ece,omitempty"`
	MUFAUROC  *float64 `json:"muf_auroc,omitempty"`
}

// ensembleJSON is an ensemble with one temperature for all questions.
type ensembleJSON struct {
	Name        string   `json:"name"`
	Temperature float64  `json:"temperature"`
	Before      float64  `json:"ece_before"`
	HeldOut     float64  `json:"ece"`
	AUROC       *float64 `json:"auroc"`
}

// writeJSON writes what was found.
func (f *fit) writeJSON(path string, questions int) error {
	out := calibratedJSON{Questions: questions, Specialists: f.record.Specialists, Auto: f.record.Auto, Alpha: f.record.Alpha}
	for _, m := range f.methods {
		at := func(k int) float64 { return calibration.Accuracy(m.answers, k) }
		out.Methods = append(out.Methods, methodJSON{m.name, m.method, at(1), at(5), at(20), at(100)})
	}
	for _, c := range f.chances {
		answerable, without := c.Outcomes[:questions], c.Outcomes[questions:]
		out.Without = len(without)
		out.Chances = append(out.Chances, chanceJSON{c.Confidence.K, string(c.Confidence.Kind), c.Confidence.Reason, c.HeldOut.ECE, c.HeldOut.AUROC,
			calibration.AtLeast(answerable, .5, true), 1 - calibration.AtLeast(without, .5, false),
			calibration.AccuracyAt(answerable, 1), calibration.AccuracyAt(answerable, .5)})
	}
	for _, s := range f.sources {
		source := sourceJSON{Name: s.name, ECE: s.chance.HeldOut.ECE, AUROC: s.chance.HeldOut.AUROC}
		if h := s.home; h != nil {
			source.Home = &homeJSON{Questions: h.chance.Questions, ECE: h.chance.ECE, Bound: h.perfect, AUROC: h.chance.AUROC}
			if h.muf != nil {
				source.Home.MUFECE, source.Home.MUFAUROC = &h.muf.HeldOut.ECE, h.muf.HeldOut.AUROC
			}
		}
		out.Sources = append(out.Sources, source)
	}
	for _, x := range f.record.Experts {
		t := f.temperatures[x.Name]
		out.Ensembles = append(out.Ensembles, ensembleJSON{x.Name, t.Temperature, t.Before.ECE, t.HeldOut.ECE, t.HeldOut.AUROC})
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
