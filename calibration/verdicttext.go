package calibration

import (
	"fmt"
	"io"
)

// WriteText writes the figures of the domains that were left out, and their means, for people. It returns the first
// error of out.
func (v *VerdictFit) WriteText(out io.Writer) error {
	t := newTable(out)
	_, _ = fmt.Fprintln(t, "\t\tdoubted\tnot found\tdoubted\tnot found\t")
	_, _ = fmt.Fprintln(t, "left out\tquestions\tanswerable\tanswerable\tforeign\tforeign\t")
	for n, title := range []string{"without a reader", "with a reader", "with a reader that reranks"} {
		if n > 0 && v.Read == nil {
			break
		}
		_, _ = fmt.Fprintf(t, "%s\t\t\t\t\t\t\n", title)
		var sum VerdictRow
		line := func(name string, n int, r VerdictRow) {
			_, _ = fmt.Fprintf(t, "%s\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t\n", name, n, 100*r.Doubted, 100*r.Refused,
				100*r.ForeignDoubted, 100*r.ForeignNotFound)
		}
		all := 0
		for _, d := range v.LeftOut {
			r := []VerdictRow{d.Gate, d.Read, d.Reranked}[n]
			line(d.Domain, d.Questions, r)
			domains := float64(len(v.LeftOut))
			sum.Doubted, sum.Refused = sum.Doubted+r.Doubted/domains, sum.Refused+r.Refused/domains
			sum.ForeignDoubted, sum.ForeignNotFound = sum.ForeignDoubted+r.ForeignDoubted/domains,
				sum.ForeignNotFound+r.ForeignNotFound/domains
			all += d.Questions
		}
		line("mean", all, sum)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nfound from %.3f, doubtful from %.3f\n", v.Answerable.Thresholds.Found,
		v.Answerable.Thresholds.Doubtful)
	for n, r := range []*ReadVerdict{v.Read, v.Reranked} {
		if r == nil || err != nil {
			continue
		}
		_, err = fmt.Fprintf(out, "%s: found from %.3f, doubtful from %.3f; confidence: ECE %.3f, AUROC %.3f\n",
			[]string{"with a reader", "reranked"}[n], r.Answerable.Thresholds.Found, r.Answerable.Thresholds.Doubtful,
			r.First.ECE, r.First.AUROC)
	}
	return err
}
