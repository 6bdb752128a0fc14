package evaluation

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Summary is the accuracy of one method over a set of questions; all values
// are means over questions, 0…1.
type Summary struct {
	Method    string  `json:"method"`
	Questions int     `json:"questions"`
	Top1      float64 `json:"top1"`
	Top5      float64 `json:"top5"`
	Top20     float64 `json:"top20"`
	Top100    float64 `json:"top100"`
	MRR10     float64 `json:"mrr10"`
	NDCG10    float64 `json:"ndcg10"`
	MAP       float64 `json:"map"`
	Recall100 float64 `json:"recall100"`
}

// Table holds the summaries of one set of questions: a domain, or all of them.
type Table struct {
	Name string    `json:"name"`
	Rows []Summary `json:"rows"`
}

// Tables summarises runs over all questions and, where the questions name
// domains, for each domain and as the mean over domains.
func Tables(runs []Run) []Table {
	var domains []string
	if len(runs) > 0 {
		for _, a := range runs[0].Answers {
			if d := a.Question.Domain; d != "" && !slices.Contains(domains, d) {
				domains = append(domains, d)
			}
		}
	}
	slices.Sort(domains)
	mix := Table{Name: "all questions"}
	for _, run := range runs {
		mix.Rows = append(mix.Rows, summarise(run, ""))
	}
	if len(domains) < 2 {
		return []Table{mix}
	}
	macro := Table{Name: "mean over domains"}
	out := []Table{mix}
	for _, run := range runs {
		var each []Summary
		for _, d := range domains {
			each = append(each, summarise(run, d))
		}
		macro.Rows = append(macro.Rows, mean(each))
	}
	out = append(out, macro)
	for _, d := range domains {
		t := Table{Name: d}
		for _, run := range runs {
			t.Rows = append(t.Rows, summarise(run, d))
		}
		out = append(out, t)
	}
	return out
}

// summarise averages a run over the questions of a domain, "" for all.
func summarise(run Run, domain string) Summary {
	s := Summary{Method: run.Name}
	for _, a := range run.Answers {
		if domain != "" && a.Question.Domain != domain {
			continue
		}
		ids := make([]string, len(a.Results))
		for i, r := range a.Results {
			ids[i] = r.ID
		}
		j := a.Question.Judgements()
		s.Questions++
		s.Top1 += TopK(ids, j, 1)
		s.Top5 += TopK(ids, j, 5)
		s.Top20 += TopK(ids, j, 20)
		s.Top100 += TopK(ids, j, 100)
		s.MRR10 += ReciprocalRank(ids, j, 10)
		s.NDCG10 += NDCG(ids, j, 10)
		s.MAP += AveragePrecision(ids, j)
		s.Recall100 += Recall(ids, j, 100)
	}
	s.scale(1 / float64(max(s.Questions, 1)))
	return s
}

func mean(each []Summary) Summary {
	out := Summary{Method: each[0].Method}
	for _, s := range each {
		out.Questions += s.Questions
		for i, v := range s.values() {
			*out.values()[i] += *v
		}
	}
	out.scale(1 / float64(len(each)))
	return out
}

func (s *Summary) values() []*float64 {
	return []*float64{&s.Top1, &s.Top5, &s.Top20, &s.Top100, &s.MRR10, &s.NDCG10, &s.MAP, &s.Recall100}
}

func (s *Summary) scale(by float64) {
	for _, v := range s.values() {
		*v *= by
	}
}

// WriteText writes tables for people, in percent.
func WriteText(out io.Writer, tables []Table) error {
	for i, t := range tables {
		if i > 0 {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		header := []string{"top-1", "top-5", "top-20", "top-100", "MRR@10", "nDCG@10", "MAP", "R@100"}
		_, _ = fmt.Fprintf(w, "%s (%d)\t%s\t\n", t.Name, t.Rows[0].Questions, strings.Join(header, "\t"))
		for _, row := range t.Rows {
			_, _ = fmt.Fprintf(w, "%s\t", row.Method)
			for _, v := range row.values() {
				_, _ = fmt.Fprintf(w, "%.1f\t", 100**v)
			}
			_, _ = fmt.Fprintln(w)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}
