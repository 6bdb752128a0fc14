package calibration

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// FitReport has the figures of a fit on held-out questions. Shares and chances are 0 to 1;
// an AUROC is null if all answers are right, or all wrong.
type FitReport struct {
	Questions    int              `json:"questions"`
	Unanswerable int              `json:"unanswerable"` // questions of the files
	Specialists  int              `json:"specialists"`
	Auto         string           `json:"auto"`
	Alpha        float64          `json:"alpha"`
	Sharpness    float64          `json:"sharpness,omitempty"` // 0: there are no two ensembles
	Methods      []MethodReport   `json:"methods"`
	Chances      []ChanceReport   `json:"chances"`
	Thresholds   []Threshold      `json:"thresholds"` // of the confidence of the first passage
	Sources      []SourceReport   `json:"sources"`
	Ensembles    []EnsembleReport `json:"ensembles"`
	Verdict      *VerdictReport   `json:"verdict,omitempty"` // nil where there are no verdicts
	CCE          *CCEReport       `json:"cce,omitempty"`     // nil without granularities
	Reranking    []RerankingFit   `json:"reranking,omitempty"`
	Reading      *ReadingFit      `json:"reading,omitempty"` // nil without a reader
	// Warnings are for people: too few questions, and methods that were passed over.
	Warnings []string `json:"warnings,omitempty"`
}

// MethodReport is how often a fusion has a passage that answers among the first k.
type MethodReport struct {
	Name   string  `json:"name"`
	Method string  `json:"method"`
	Top1   float64 `json:"top1"`
	Top5   float64 `json:"top5"`
	Top20  float64 `json:"top20"`
	Top100 float64 `json:"top100"`
	// Top1Interval holds the top-1 of all such questions in 95 of 100 samples.
	Top1Interval [2]float64 `json:"top1_interval"`
	// Domains are the same of each domain, where there are several.
	Domains map[string]DomainReport `json:"domains,omitempty"`
}

// DomainReport has the figures of a method in one domain. Top1 and Top20 are shares from 0 to 1.
type DomainReport struct {
	Questions int     `json:"questions"`
	Top1      float64 `json:"top1"`
	Top20     float64 `json:"top20"`
}

// ChanceReport is the chance that any of the first k passages answers.
type ChanceReport struct {
	K        int    `json:"k"`
	Kind     Shape  `json:"kind"`
	Reason   string `json:"reason"`
	Half            // over as many questions without an answer as with one, of both kinds
	TakenOut Half   `json:"taken_out"` // those without an answer are the same, their passages taken out
	// Unanswerable are those of the files; nil: there are none.
	Unanswerable *Half   `json:"unanswerable,omitempty"`
	Accuracy     float64 `json:"accuracy"` // over questions with an answer
	SurestHalf   float64 `json:"accuracy_of_surest_half"`
	// Reliability is over as many questions without an answer as with one.
	Reliability []Bin `json:"reliability"`
}

// Half has the measures of a confidence over questions of which half, by weight, have an answer.
type Half struct {
	ECE   float64  `json:"ece"`
	AUROC *float64 `json:"auroc"`
}

// halfOf returns the ECE and AUROC of a confidence over questions with an answer and questions without one, where both
// kinds weigh the same in total. The weights of the outcomes in without are ignored.
func halfOf(answerable, without []Outcome) Half {
	all := slices.Concat(answerable, without)
	for i := range without {
		all[len(answerable)+i].Weight = float64(len(answerable)) / float64(len(without))
	}
	s := Summarise(all)
	return Half{s.ECE, s.AUROC}
}

// SourceReport is the chance that a source's own first hit answers.
type SourceReport struct {
	Name  string   `json:"name"`
	ECE   float64  `json:"ece"`
	AUROC *float64 `json:"auroc"`
}

// EnsembleReport is an ensemble with one temperature for all questions.
type EnsembleReport struct {
	Name        string   `json:"name"`
	Temperature float64  `json:"temperature"`
	Before      float64  `json:"ece_before"`
	HeldOut     float64  `json:"ece"`
	AUROC       *float64 `json:"auroc"`
}

// addChance adds the figures of a confidence and, if it is of the first passage, the thresholds.
func (r *FitReport) addChance(c *ConfidenceFit) {
	answerable := c.Outcomes[:r.Questions]
	takenOut := c.Outcomes[r.Questions : 2*r.Questions]
	unanswerable := c.Outcomes[2*r.Questions:]
	r.Unanswerable = len(unanswerable)
	if c.Confidence.K == 1 {
		r.Thresholds = thresholdsFor(answerable, takenOut, unanswerable)
	}
	chance := ChanceReport{K: c.Confidence.K, Kind: c.Confidence.Kind, Reason: c.Confidence.Reason,
		Half: Half{c.HeldOut.ECE, c.HeldOut.AUROC}, TakenOut: halfOf(answerable, takenOut),
		Accuracy: AccuracyAt(answerable, 1), SurestHalf: AccuracyAt(answerable, .5), Reliability: Reliability(c.Outcomes)}
	if len(unanswerable) > 0 {
		half := halfOf(answerable, unanswerable)
		chance.Unanswerable = &half
	}
	r.Chances = append(r.Chances, chance)
}

// enough is the number of questions from which figures are accurate to a few points.
const enough = 100

// describeMethods adds the figures of all methods to the report, and a warning if there are few questions. The report's
// methods get the interval of top-1 and, with several domains, the figures of each.
func (f *fitRun) describeMethods() {
	r := f.report
	r.Auto, r.Alpha, r.Sharpness = f.record.Auto, f.record.Alpha, f.record.Sharpness
	for _, m := range f.methods {
		at := func(k int) float64 { return Accuracy(m.answers, k) }
		low, high := shareInterval(at(1), len(m.answers))
		row := MethodReport{
			Name:         m.name,
			Method:       m.method,
			Top1:         at(1),
			Top5:         at(5),
			Top20:        at(20),
			Top100:       at(100),
			Top1Interval: [2]float64{low, high},
		}
		own := map[string][]MethodAnswer{}
		for i, q := range f.Questions {
			own[q.Domain] = append(own[q.Domain], m.answers[i])
		}
		if len(own) > 1 {
			row.Domains = map[string]DomainReport{}
			for domain, answers := range own {
				row.Domains[domain] = DomainReport{len(answers), Accuracy(answers, 1), Accuracy(answers, 20)}
			}
		}
		r.Methods = append(r.Methods, row)
	}
	if n := r.Questions; n < enough {
		i := r.Methods[0].Top1Interval
		r.Warnings = append(
			[]string{fmt.Sprintf(
				"%s few: with so many a figure is good to %.0f points, so little is\nlearned from them. %d are a beginning, 300 and more are good.",
				map[bool]string{true: "1 question is", false: fmt.Sprintf("%d questions are", n)}[n == 1],
				50*(i[1]-i[0]), enough,
			)},
			r.Warnings...)
	}
}

// WriteText writes the figures of the methods and of the answer's confidence, for people. The rest is in the JSON. It
// returns the first error of to.
func (r *FitReport) WriteText(to io.Writer) error {
	out := bufio.NewWriter(to)
	_, _ = fmt.Fprintf(out, "%s, answered by what was fitted on others\n\n", questionsOf(r.Questions))
	t := newTable(out)
	_, _ = fmt.Fprintln(t, "method\ttop-1\t95 of 100 times in\ttop-5\ttop-20\ttop-100\t")
	for _, m := range r.Methods {
		_, _ = fmt.Fprintf(
			t, "%s\t%.1f\t%.1f to %.1f\t%.1f\t%.1f\t%.1f\t\n", m.Method, 100*m.Top1, 100*m.Top1Interval[0],
			100*m.Top1Interval[1], 100*m.Top5, 100*m.Top20, 100*m.Top100,
		)
	}
	_ = t.Flush()
	c := r.Chances[0]
	_, _ = fmt.Fprintf(
		out,
		"\nconfidence of the gate's first passage, where half of the questions have no answer.\nOf the surest half of the others %.1f of 100 are right.\n\n",
		100*c.SurestHalf,
	)
	t = newTable(out)
	_, _ = fmt.Fprintln(t, "without an answer are\tECE\tAUROC\t")
	half := func(without string, h Half) {
		_, _ = fmt.Fprintf(t, "%s\t%.3f\t%s\t\n", without, h.ECE, areaOf(h.AUROC))
	}
	half("the same, their passages taken out", c.TakenOut)
	if c.Unanswerable != nil {
		half(fmt.Sprintf("the files' %d unanswerable ones", r.Unanswerable), *c.Unanswerable)
		half("both", c.Half)
	}
	_ = t.Flush()
	_, _ = fmt.Fprintln(out)
	writeThresholds(out, r.Thresholds)
	if r.Verdict != nil {
		_ = r.Verdict.WriteText(out)
	}
	if r.CCE != nil {
		r.CCE.writeText(out)
	}
	for i := range r.Reranking {
		_, _ = fmt.Fprintln(out)
		_ = r.Reranking[i].WriteText(out)
	}
	if r.Reading != nil {
		_, _ = fmt.Fprintln(out)
		_ = r.Reading.WriteText(out)
	}
	for _, warning := range r.Warnings {
		_, _ = fmt.Fprintf(out, "\n%s\n", warning)
	}
	return out.Flush()
}

// areaOf returns an AUROC as text; "-" for nil, which means that all answers are right, or all wrong.
func areaOf(x *float64) string {
	if x == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f", *x)
}

// writeText writes the accuracy of each granularity alone, and of the surest of those chosen.
func (c *CCEReport) writeText(out io.Writer) {
	alone := slices.SortedFunc(maps.Keys(c.Alone), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Alone[b], c.Alone[a]), cmp.Compare(a, b))
	})
	for i, name := range alone {
		alone[i] = fmt.Sprintf("%s %.1f", name, 100*c.Alone[name])
	}
	_, _ = fmt.Fprintf(
		out, "\ngranularities, and of how many of 100 questions each alone finds an answer first:\n%s\n",
		strings.Join(alone, ", "),
	)
	_, _ = fmt.Fprintf(out, "cce takes %s, at temperature %.3f.\n", strings.Join(c.Granularities, ", "), c.Temperature)
	_, _ = fmt.Fprintf(
		out,
		"The surest is right for %.1f; its confidence has an ECE of %.3f and an AUROC of %s\n(at temperature %.1f: right for %.1f, ECE %.3f).\n",
		100*c.Top1, c.ECE, areaOf(c.AUROC), c.Uncalibrated.Temperature, 100*c.Uncalibrated.Top1, c.Uncalibrated.ECE,
	)
}

// writeThresholds writes what each "min_confidence" loses and gains, and names the highest that loses little.
func writeThresholds(out io.Writer, thresholds []Threshold) {
	t := newTable(out)
	heading := "min_confidence\tright first passages lost\tno result, answer taken out\t"
	if thresholds[0].Unanswerable != nil {
		heading += "no result, unanswerable\t"
	}
	_, _ = fmt.Fprintln(t, heading)
	for _, x := range thresholds {
		_, _ = fmt.Fprintf(t, "%.2f\t%.1f\t%.1f\t", x.MinConfidence, 100*x.Lost, 100*x.TakenOut)
		if x.Unanswerable != nil {
			_, _ = fmt.Fprintf(t, "%.1f\t", 100**x.Unanswerable)
		}
		_, _ = fmt.Fprintln(t)
	}
	_ = t.Flush()
	_, _ = fmt.Fprintf(
		out, "\nTo give no answer rather than a wrong one, ask with \"min_confidence\": %.2f.\n",
		chosenThreshold(thresholds).MinConfidence,
	)
}

// WritePriorText writes the figures of a prior in each domain, for people. It returns the first error of out.
func WritePriorText(out io.Writer, domains []PriorDomain) error {
	t := newTable(out)
	_, _ = fmt.Fprintln(t, "left out\tquestions\tECE\tAUROC\t")
	for _, d := range domains {
		_, _ = fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f\t\n", d.Domain, d.Questions, d.ECE, d.AUROC)
	}
	return t.Flush()
}

// newTable returns a writer of a table whose columns are aligned to the right.
func newTable(out io.Writer) *tabwriter.Writer {
	return tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// questionsOf returns "1 question" or "n questions".
func questionsOf(n int) string {
	if n == 1 {
		return "1 question"
	}
	return fmt.Sprintf("%d questions", n)
}
