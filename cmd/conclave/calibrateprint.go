package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"conclave/calibration"
)

// enough questions for figures that are good to a few points.
const enough = 100

// print shows what the methods are worth, and the answer's confidence; the rest
// is in the report.
func (f *fit) print(out io.Writer, questions []asked) {
	_, _ = fmt.Fprintf(out, "%s, answered by what was fitted on others\n\n", plural(int64(len(questions)), "question"))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(t, "method\ttop-1\t95 of 100 times in\ttop-5\ttop-20\ttop-100\t")
	for _, m := range f.methods {
		at := func(k int) float64 { return 100 * calibration.Accuracy(m.answers, k) }
		low, high := calibration.ShareInterval(calibration.Accuracy(m.answers, 1), len(m.answers))
		_, _ = fmt.Fprintf(t, "%s\t%.1f\t%.1f to %.1f\t%.1f\t%.1f\t%.1f\t\n", m.method, at(1), 100*low, 100*high, at(5), at(20), at(100))
	}
	_ = t.Flush()
	if len(f.chances) > 0 {
		c := &f.chances[0]
		answerable, without := c.Outcomes[:len(questions)], c.Outcomes[len(questions):]
		_, _ = fmt.Fprintf(out, "\nconfidence of the gate's first passage, over these questions and %d without an answer\n(the same, their passages taken out%s): ECE %.3f, AUROC %s.\nWith \"min_confidence\": 0.5, %.1f of 100 right first passages are given, and %.1f of 100\nquestions without an answer get none. Of the surest half of these, %.1f are right.\n",
			len(without), andGiven(len(without)-len(questions)), c.HeldOut.ECE, areaOf(c.HeldOut),
			100*calibration.AtLeast(answerable, .5, true), 100*(1-calibration.AtLeast(without, .5, false)), 100*calibration.AccuracyAt(answerable, .5))
	}
	if n := len(questions); n < enough {
		low, high := calibration.ShareInterval(calibration.Accuracy(f.methods[0].answers, 1), n)
		_, _ = fmt.Fprintf(out, "\n%s few: with so many a figure is good to %.0f points, so little is\nlearned from them. %d are a beginning, 300 and more are good.\n",
			map[bool]string{true: "1 question is", false: fmt.Sprintf("%d questions are", n)}[n == 1], 50*(high-low), enough)
	}
}

// andGiven names the unanswerable questions of the files.
func andGiven(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d unanswerable ones of the files", n)
}

// writeDetails writes the tables behind it.
func (f *fit) writeDetails(out io.Writer, questions []asked) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\n", args...) }
	if len(f.temperatures) > 0 {
		row("expert\ttemperature\tECE at 1\tECE, held out\tAUROC")
		for _, name := range slices.Sorted(maps.Keys(f.temperatures)) {
			x := f.temperatures[name]
			row("%s\t%.3g\t%.3f\t%.3f\t%s", name, x.Temperature, x.Before.ECE, x.HeldOut.ECE, areaOf(x.HeldOut))
		}
		_ = t.Flush()
		_, _ = fmt.Fprintln(out)
	}
	f.printSources(out)
	row("chance that any of the first\tkind\tECE, half without an answer\tAUROC\tECE of those with one\tAUROC\taccuracy\tof the surest half")
	for _, c := range f.chances {
		answerable := c.Outcomes[:len(questions)]
		s, _ := calibration.Summarise(answerable) // there are some
		row("%d\t%s\t%.3f\t%s\t%.3f\t%s\t%.1f\t%.1f", c.Confidence.K, c.Confidence.Kind, c.HeldOut.ECE, areaOf(c.HeldOut), s.ECE, areaOf(s),
			100*s.Accuracy, 100*calibration.AccuracyAt(answerable, .5))
	}
	_ = t.Flush()
	f.printDomains(out, questions)
}

// printSources shows how well each source knows whether its first hit answers,
// everywhere and at home, beside what its ensemble says at home.
func (f *fit) printSources(out io.Writer) {
	if len(f.sources) == 0 {
		return
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "chance that the first hit answers\tECE, held out\tAUROC\tat home: questions\tECE\ta perfect one's, 95 of 100\tAUROC\tMUF at home: ECE\tAUROC")
	for _, s := range f.sources {
		_, _ = fmt.Fprintf(t, "%s\t%.3f\t%s", s.name, s.chance.HeldOut.ECE, areaOf(s.chance.HeldOut))
		if h := s.home; h != nil {
			_, _ = fmt.Fprintf(t, "\t%d\t%.3f\t%.3f\t%s", h.chance.Questions, h.chance.ECE, h.perfect, areaOf(h.chance))
			if h.muf != nil {
				_, _ = fmt.Fprintf(t, "\t%.3f\t%s", h.muf.HeldOut.ECE, areaOf(h.muf.HeldOut))
			}
		}
		_, _ = fmt.Fprintln(t)
	}
	_ = t.Flush()
	_, _ = fmt.Fprintln(out)
}

// areaOf is the AUROC as printed; "-" when all answers are right, or all wrong.
func areaOf(s calibration.Summary) string {
	if s.AUROC == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *s.AUROC)
}

// printDomains shows the held-out gate by domain, where there are several.
func (f *fit) printDomains(out io.Writer, questions []asked) {
	domains := map[string][]int{}
	for i, q := range questions {
		domains[q.domain] = append(domains[q.domain], i)
	}
	if len(domains) < 2 {
		return
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprint(t, "\ndomain\tquestions")
	for _, m := range f.methods {
		_, _ = fmt.Fprintf(t, "\t%s", m.method)
	}
	_, _ = fmt.Fprintln(t)
	for _, name := range slices.Sorted(maps.Keys(domains)) {
		_, _ = fmt.Fprintf(t, "%s\t%d", name, len(domains[name]))
		for _, m := range f.methods {
			var own []calibration.Answered
			for _, i := range domains[name] {
				own = append(own, m.answers[i])
			}
			_, _ = fmt.Fprintf(t, "\t%.1f / %.1f", 100*calibration.Accuracy(own, 1), 100*calibration.Accuracy(own, 20))
		}
		_, _ = fmt.Fprintln(t)
	}
	_ = t.Flush()
}

// outcomes are what the reliability diagrams show, by the diagram's name.
func (f *fit) outcomes() map[string][]calibration.Outcome {
	out := map[string][]calibration.Outcome{}
	for name, x := range f.temperatures {
		out[name] = x.HeldOutOutcomes
	}
	for _, c := range f.chances {
		out[fmt.Sprintf("answer-%d", c.Confidence.K)] = c.Outcomes
	}
	return out
}
