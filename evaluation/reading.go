package evaluation

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"conclave/calibration"
	"conclave/corpus"
	"conclave/questions"
	"conclave/search"
)

// AnswerEngine is what answers are measured with; *search.Engine is one.
type AnswerEngine interface {
	Compare(ctx context.Context, requests []search.Request) ([]search.Response, error)
	Readings(ctx context.Context, reader, question string, ids []string) ([]corpus.Passage, []search.Reading, error)
	Readers() []search.ReaderInfo
}

// AnswerOptions say how answers are measured.
type AnswerOptions struct {
	Reader   string // "": the first
	Passages int    // of a ranking that are read
	Timeout  time.Duration
	Chance   bool // fit the chance that the words are right
	Progress func(done, total int)
}

// AnswerWays are the ways to an answer that are measured, in their order: the best words
// of auto's passages; the same with the scores of equal words added; the best words of
// the passage with the highest selection (Karpukhin et al. 2020, DPR, section 6.1); and
// the best words of BM25's passages. The last two know the answer, so that no reader can
// do better: the best words of a passage that answers, and those of any of auto's
// passages whose best words are right.
func AnswerWays() []string {
	return []string{"auto", "auto, sum", "auto, select first", "bm25", "gold passage", "any of auto's"}
}

// AnswerReport is how well a reader answers.
type AnswerReport struct {
	Reader   string      `json:"reader"`
	Passages int         `json:"passages"`
	Rows     []AnswerRow `json:"rows"`
	// Top1 is, in percent of the questions, how often the first passage answers: auto's
	// own, and of auto's passages the one that the reader selects, or both ranks fused.
	Top1 map[string]float64 `json:"top_1"`
	// ReadMS is how long a passage was read, in milliseconds, on average.
	ReadMS float64 `json:"read_ms"`
	// Chance is fitted to Asked and TakenOut, where that was asked for.
	Chance *calibration.AnswerChance `json:"-"`

	// Asked are the first answers over auto's passages, with their signals: First is 1
	// where the words are right. Those of the same questions without the passages that
	// answer follow, as TakenOut.
	Asked, TakenOut []calibration.RankedQuestion `json:"-"`
}

// AnswerRow is a way in a domain: exact match and F1 in percent.
type AnswerRow struct {
	Domain    string  `json:"domain"`
	Way       string  `json:"way"`
	Questions int     `json:"questions"`
	EM        float64 `json:"em"`
	F1        float64 `json:"f1"`
}

// Answers measures a reader on questions with answers, over the passages of a collection;
// questions of a domain without any count as unanswerable, in Asked.
func Answers(ctx context.Context, engine AnswerEngine, passages questions.Passages, domains []questions.Domain, o AnswerOptions) (*AnswerReport, error) {
	readers := engine.Readers()
	at := slices.IndexFunc(readers, func(r search.ReaderInfo) bool { return !r.Generates && (o.Reader == "" || r.Name == o.Reader) })
	if at < 0 {
		return nil, fmt.Errorf("there is no reader %q among the %d that are loaded: name it under readers in the configuration", o.Reader, len(readers))
	}
	o.Reader = readers[at].Name
	report := &AnswerReport{Reader: o.Reader, Passages: o.Passages, Top1: map[string]float64{}}
	m := answering{AnswerOptions: o, engine: engine, passages: passages, report: report}
	total := 0
	for _, d := range domains {
		total += len(d.Questions)
	}
	for _, d := range domains {
		sums := make([]AnswerRow, len(AnswerWays()))
		for i := range d.Questions {
			said, err := m.ask(ctx, &d.Questions[i])
			if err != nil {
				return nil, fmt.Errorf("question %s of %s: %w", d.Questions[i].ID, d.Name, err)
			}
			for w, text := range said {
				sums[w].Questions++
				sums[w].EM += 100 * ExactMatch(text, d.Questions[i].Answers)
				sums[w].F1 += 100 * TokenF1(text, d.Questions[i].Answers)
			}
			m.done++
			if o.Progress != nil {
				o.Progress(m.done, total)
			}
		}
		for w, way := range AnswerWays() {
			if n := float64(sums[w].Questions); n > 0 {
				report.Rows = append(report.Rows, AnswerRow{d.Name, way, sums[w].Questions, sums[w].EM / n, sums[w].F1 / n})
			}
		}
	}
	for key := range report.Top1 {
		report.Top1[key] *= 100 / float64(max(m.judged, 1))
	}
	if m.read > 0 {
		report.ReadMS = float64(m.took.Microseconds()) / 1000 / float64(m.read)
	}
	report.means()
	if !o.Chance {
		return report, nil
	}
	var err error
	report.Chance, err = calibration.FitAnswers(report.Asked, report.TakenOut, readers[at].Fingerprint)
	return report, err
}

// means adds the mean of the domains, each counting the same.
func (r *AnswerReport) means() {
	rows := r.Rows
	for _, way := range AnswerWays() {
		mean, n := AnswerRow{Domain: "mean", Way: way}, 0.0
		for _, row := range rows {
			if row.Way == way {
				mean.Questions, mean.EM, mean.F1, n = mean.Questions+row.Questions, mean.EM+row.EM, mean.F1+row.F1, n+1
			}
		}
		if n > 1 {
			mean.EM, mean.F1 = mean.EM/n, mean.F1/n
			r.Rows = append(r.Rows, mean)
		}
	}
}

// answering is a measurement under way.
type answering struct {
	AnswerOptions
	engine             AnswerEngine
	passages           questions.Passages
	report             *AnswerReport
	done, judged, read int
	took               time.Duration
}

// ask is what each way says to a question; nil where nobody knows its answers.
func (m *answering) ask(ctx context.Context, q *questions.Question) ([]string, error) {
	request := search.Request{Question: q.Text, K: m.Passages, Fields: []string{}, TimeoutMS: int(m.Timeout.Milliseconds())}
	words := request
	words.Fusion, words.Experts, words.Late = search.Methods{Names: []string{"rrf"}}, &[]string{}, new(bool)
	responses, err := m.engine.Compare(ctx, []search.Request{request, words})
	if err != nil {
		return nil, err
	}
	auto, bm25 := idsOf(responses[0].Results), idsOf(responses[1].Results)
	relevant := q.Judgements()
	var gold []string
	for id, grade := range relevant {
		if grade <= 0 {
			continue
		}
		if _, ok, err := m.passages.Ordinal(id); err != nil {
			return nil, err
		} else if ok {
			gold = append(gold, id)
		}
	}
	slices.Sort(gold)
	ids := slices.Concat(auto, bm25, gold)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	began := time.Now()
	passages, readings, err := m.engine.Readings(ctx, m.Reader, q.Text, ids)
	if err != nil {
		return nil, err
	}
	m.took += time.Since(began)
	m.read += len(ids)
	of := func(wanted []string) (p []corpus.Passage, r []search.Reading) {
		for _, id := range wanted {
			at, _ := slices.BinarySearch(ids, id)
			p, r = append(p, passages[at]), append(r, readings[at])
		}
		return p, r
	}
	confidence := responses[0].Confidence
	first := func(wanted []string, combine string) search.Extract {
		p, r := of(wanted)
		if all := search.Extracts(p, r, combine, confidence, nil); len(all) > 0 {
			return all[0]
		}
		return search.Extract{}
	}
	found := first(auto, search.CombineBest)
	m.signals(q, found, first(slices.DeleteFunc(slices.Clone(auto), func(id string) bool { return relevant[id] > 0 }), search.CombineBest))
	m.selects(auto, relevant, of)
	if len(q.Answers) == 0 {
		return nil, nil
	}
	_, read := of(auto)
	said := []string{found.Text, first(auto, search.CombineSum).Text, "", first(bm25, search.CombineBest).Text, first(gold, search.CombineBest).Text, ""}
	if len(auto) > 0 {
		said[2] = first([]string{auto[mostSelected(read)]}, search.CombineBest).Text
	}
	best := -1.0
	for _, id := range auto {
		if text := first([]string{id}, search.CombineBest).Text; ExactMatch(text, q.Answers)+TokenF1(text, q.Answers) > best {
			said[5], best = text, ExactMatch(text, q.Answers)+TokenF1(text, q.Answers)
		}
	}
	return said, nil
}

// signals keeps what is known of the first answer, and of that without the passages that
// answer.
func (m *answering) signals(q *questions.Question, found, without search.Extract) {
	keep := func(to *[]calibration.RankedQuestion, e search.Extract) {
		if e.Signals != nil {
			*to = append(*to, calibration.RankedQuestion{ID: q.Domain + "/" + q.ID, Signals: e.Signals, First: int(ExactMatch(e.Text, q.Answers))})
		}
	}
	keep(&m.report.Asked, found)
	keep(&m.report.TakenOut, without)
}

// selects counts whether the first passage answers, by the ranking and by the reader.
func (m *answering) selects(auto []string, relevant questions.Judgements, of func([]string) ([]corpus.Passage, []search.Reading)) {
	if len(auto) == 0 || relevant.Relevant() == 0 {
		return
	}
	m.judged++
	_, readings := of(auto)
	order := make([]int, len(auto)) // by selection
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(readings[b].Select, readings[a].Select) })
	both, best := 0, 0.0
	for rank, i := range order {
		if s := 1/float64(60+i+1) + 1/float64(60+rank+1); s > best {
			both, best = i, s
		}
	}
	for name, at := range map[string]int{"auto": 0, "select": order[0], "both": both} {
		if relevant[auto[at]] > 0 {
			m.report.Top1[name]++
		} else {
			m.report.Top1[name] += 0
		}
	}
}

func mostSelected(readings []search.Reading) (at int) {
	for i := range readings {
		if readings[i].Select > readings[at].Select {
			at = i
		}
	}
	return at
}

func idsOf(results []search.Result) (ids []string) {
	for _, r := range results {
		ids = append(ids, r.ID)
	}
	return ids
}

// WriteText prints the report for people: a line for each domain.
func (r *AnswerReport) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(t, "EM / F1\tquestions\t%s\t\n", strings.Join(AnswerWays(), "\t"))
	for i := 0; i < len(r.Rows); i += len(AnswerWays()) {
		_, _ = fmt.Fprintf(t, "%s\t%d\t", r.Rows[i].Domain, r.Rows[i].Questions)
		for _, row := range r.Rows[i : i+len(AnswerWays())] {
			_, _ = fmt.Fprintf(t, "%.1f / %.1f\t", row.EM, row.F1)
		}
		_, _ = fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "\nfirst passage answers: auto %.1f %%, by the reader's selection %.1f %%, by both ranks %.1f %%; a passage was read in %.1f ms\n",
		r.Top1["auto"], r.Top1["select"], r.Top1["both"], r.ReadMS); err != nil || r.Chance == nil {
		return err
	}
	_, err := fmt.Fprintf(w, "chance on questions that were not fitted on: ECE %.3f, AUROC %.3f, over %d questions, and these without the passages that answer\n",
		r.Chance.ECE, r.Chance.AUROC, r.Chance.Questions)
	return err
}
