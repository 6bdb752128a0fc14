package evaluation

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"example.org/conclave/internal/questions"
	"example.org/conclave/search"
	"example.org/conclave/search/ask"
	"example.org/conclave/search/extract"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// AnswerEngine is the part of an engine by which answers are measured; *search.Engine implements it.
type AnswerEngine interface {
	Compare(ctx context.Context, requests []search.Request) ([]reply.Response, error)
	Readings(ctx context.Context, reader, question string, ids []string) (extract.Read, error)
	Readers() []learned.ReaderInfo
}

// AnswerOptions are how answers are measured.
type AnswerOptions struct {
	Reader   string // "": the first
	Passages int    // of a ranking that are read
	Timeout  time.Duration
	Progress func(done, total int)
}

// AnswerWays returns the names of the ways to an answer that are measured, in their order: the best words of auto's
// passages, ranked by auto and the reader, or by the reader alone if it has no part in the order
// (extract.Read.Ranking); the same with the scores of equal words added; the best words by the reader alone (Karpukhin
// et al. 2020, DPR, section 6.1), of auto's passages and of BM25's. The last two know the answer, so that no reader can
// do better: the best words of a passage that answers, and those of any of auto's passages whose best words are right.
func AnswerWays() []string {
	return []string{"auto", "auto, sum", "auto, reader alone", "bm25, reader alone", "gold passage", "any of auto's"}
}

// AnswerReport is the result of measuring a reader.
type AnswerReport struct {
	Reader   string      `json:"reader"`
	Passages int         `json:"passages"`
	Rows     []AnswerRow `json:"rows"`
	// Top1 is, in percent of the questions whose passages are known, how often the first
	// passage answers: auto's own ("auto"), and of auto's passages the one that the reader selects alone ("select"),
	// or with auto ("both"; absent where the reader has no part in the order).
	Top1 map[string]float64 `json:"top_1"`
	// ReadMS is how long a passage was read, in milliseconds, on average.
	ReadMS float64 `json:"read_ms"`
}

// AnswerRow is the result of one way to answers in one domain; EM and F1 are in percent.
type AnswerRow struct {
	Domain    string  `json:"domain"`
	Way       string  `json:"way"`
	Questions int     `json:"questions"`
	EM        float64 `json:"em"`
	F1        float64 `json:"f1"`
}

// Answers asks the engine the questions of the domains, lets a reader mark words in the passages found, and returns how
// often these are right. It fails if the engine has no such reader, or a question fails. The report has the means over
// the domains too (addMeans).
func Answers(
	ctx context.Context,
	engine AnswerEngine,
	passages questions.Passages,
	domains []questions.Domain,
	o AnswerOptions,
) (*AnswerReport, error) {
	readers := engine.Readers()
	at := slices.IndexFunc(
		readers, func(r learned.ReaderInfo) bool { return !r.Generates && (o.Reader == "" || r.Name == o.Reader) },
	)
	if at < 0 {
		return nil, fmt.Errorf(
			"there is no reader %q among the %d that are loaded: name it under readers in the configuration",
			o.Reader,
			len(readers),
		)
	}
	o.Reader = readers[at].Name
	report := &AnswerReport{Reader: o.Reader, Passages: o.Passages, Top1: map[string]float64{}}
	m := answerRun{AnswerOptions: o, engine: engine, passages: passages, report: report}
	total := 0
	for _, d := range domains {
		total += len(d.Questions)
	}
	for _, d := range domains {
		sums := make([]AnswerRow, len(AnswerWays()))
		for i := range d.Questions {
			marked, err := m.askOne(ctx, &d.Questions[i])
			if err != nil {
				return nil, fmt.Errorf("question %s of %s: %w", d.Questions[i].ID, d.Name, err)
			}
			for w, text := range marked {
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
	report.addMeans()
	return report, nil
}

// addMeans adds rows with the means over the domains, each of which counts the same. It adds none for a single domain.
func (r *AnswerReport) addMeans() {
	rows := r.Rows
	for _, way := range AnswerWays() {
		mean := AnswerRow{Domain: "mean", Way: way}
		n := 0.0
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

// answerRun is the state of a measurement of answers.
type answerRun struct {
	AnswerOptions
	engine             AnswerEngine
	passages           questions.Passages
	report             *AnswerReport
	done, judged, read int
	took               time.Duration
}

// askOne returns the words that each way (AnswerWays) answers a question with, in their order; nil if the question has
// no known answers. It also counts whether the first passages are right (countFirst). It fails if the engine does.
func (m *answerRun) askOne(ctx context.Context, q *questions.Question) ([]string, error) {
	request := search.Ask(q.Text, q.Before)
	request.K = m.Passages
	request.Fields = []string{}
	request.TimeoutMS = int(m.Timeout.Milliseconds())
	words := request
	words.Fusion = search.Methods{Names: []string{"rrf"}}
	words.Experts = &[]string{}
	words.Late = new(bool)
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
	read, err := m.engine.Readings(ctx, m.Reader, q.Text, ids)
	if err != nil {
		return nil, err
	}
	m.took += time.Since(began)
	m.read += len(ids)
	first := func(wanted []string, combine string) string {
		readings := read.Of(wanted)
		found, _ := readings.First(combine, nil)
		return found.Text
	}
	alone, both := read.Of(auto), read.Of(auto)
	orders := map[string][]int{"select": alone.Weigh(make([]float64, len(auto)), 0)}
	if read.Ranking > 0 {
		scores := make([]float64, len(auto))
		for i, r := range responses[0].Results {
			scores[i] = r.Score
		}
		orders["both"] = both.Weigh(scores, read.Ranking)
	}
	m.countFirst(auto, relevant, orders)
	if len(q.Answers) == 0 {
		return nil, nil
	}
	found, _ := both.First(ask.CombineBest, nil)
	summed, _ := both.First(ask.CombineSum, nil)
	marked := []string{
		found.Text,
		summed.Text,
		first(auto, ask.CombineBest),
		first(bm25, ask.CombineBest),
		first(gold, ask.CombineBest),
		"",
	}
	best := -1.0
	for _, id := range auto {
		if text := first([]string{id}, ask.CombineBest); ExactMatch(text, q.Answers)+TokenF1(text, q.Answers) > best {
			best = ExactMatch(text, q.Answers) + TokenF1(text, q.Answers)
			marked[5] = text
		}
	}
	return marked, nil
}

// countFirst counts for each order of auto's passages, by its name, whether the first passage is relevant. An order
// lists indexes of auto; that of auto itself is added. Without passages or relevant ones it counts nothing.
func (m *answerRun) countFirst(auto []string, relevant questions.Judgements, orders map[string][]int) {
	if len(auto) == 0 || relevant.Relevant() == 0 {
		return
	}
	m.judged++
	orders["auto"] = []int{0}
	for name, order := range orders {
		right := 0.0
		if relevant[auto[order[0]]] > 0 {
			right = 1
		}
		m.report.Top1[name] += right
	}
}

// idsOf returns the ids of results, in their order.
func idsOf(results []reply.Result) (ids []string) {
	for _, r := range results {
		ids = append(ids, r.ID)
	}
	return ids
}

// WriteText writes the report for people: a line for each domain with exact match and F1 by each way. It returns the
// first error of w.
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
	first := "which passages answer is not known"
	if len(r.Top1) > 0 {
		both := "this reader has no part in the order"
		if share, ok := r.Top1["both"]; ok {
			both = fmt.Sprintf("by both %.1f %%", share)
		}
		first = fmt.Sprintf(
			"first passage answers: auto %.1f %%, by the reader's selection %.1f %%, %s",
			r.Top1["auto"],
			r.Top1["select"],
			both,
		)
	}
	_, err := fmt.Fprintf(w, "\n%s; a passage was read in %.1f ms\n", first, r.ReadMS)
	return err
}
