package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"conclave/collection"
	"conclave/corpus"
	shipped "conclave/experts"
	"conclave/rank"
	"conclave/serving"
)

// Passages that are encoded to learn what all will take: one of sampleShare,
// and at most mostSampled.
const (
	sampleShare = 25
	mostSampled = 32
)

// What a passage takes on disk, about: its text and words as much again as the
// text; an expert's vector in full, in codes and with its links in the graph;
// tokens' vectors by the length of the text (measured on the demo and on the
// passages of eight domains).
const (
	textShare  = 2
	tokenShare = 14
	linkBytes  = 200
	dimension  = 384
)

func vectorBytes(dimension int) int64 { return int64(5*dimension + linkBytes) }

// sampled is a source that remembers some of its passages, spread evenly over
// what was read.
type sampled struct {
	collection.Source
	passages, text int64 // and bytes of text
	every          int64 // of so many one is kept; 0: 1
	kept           []corpus.Passage
}

// Next implements collection.Source.
func (s *sampled) Next() (corpus.Passage, error) {
	p, err := s.Source.Next()
	if err != nil {
		return p, err
	}
	if s.passages%max(s.every, 1) == 0 {
		s.kept = append(s.kept, p)
		if len(s.kept) == 2*mostSampled {
			for i := range mostSampled {
				s.kept[i] = s.kept[2*i]
			}
			s.kept, s.every = s.kept[:mostSampled], 2*max(s.every, 1)
		}
	}
	s.passages++
	s.text += int64(len(p.Title) + len(p.Text))
	return p, nil
}

// sampleOf is the sample of a collection's passages, with the text of all by its
// average.
func sampleOf(folder string) (*sampled, error) {
	c, err := collection.Open(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	g := c.Acquire()
	defer g.Release()
	s := &sampled{passages: int64(g.Len())}
	text := 0
	for at := 0; at < g.Ordinals(); at += max(1, g.Ordinals()/mostSampled) {
		if p, err := g.Passage(rank.Ordinal(at)); err == nil { // else it was deleted
			s.kept = append(s.kept, p)
			text += len(p.Title) + len(p.Text)
		}
	}
	s.text = s.passages * int64(text) / int64(max(1, len(s.kept)))
	return s, nil
}

// costs says before passages are encoded what that takes, with the experts that
// were chosen and with those that --experts could have named.
type costs struct {
	*sampled
	experts []*serving.Expert
	what    string                    // for which there is no choice; "": --experts chooses
	cut     map[*serving.Expert]int64 // passages of the sample that were cut
}

// before says it when all is read, and before anything is encoded.
func (c *costs) before(ctx context.Context, o *collection.BuildOptions, bar *progress) {
	report, said := o.Progress, false
	o.Progress = func(p collection.Progress) {
		if !said && p.Stage == collection.Words {
			said = true
			bar.Finish() // of the reading
			c.say(ctx, bar)
		}
		report(p)
	}
}

func (c *costs) say(ctx context.Context, bar *progress) {
	table, err := c.table(ctx)
	if err != nil {
		table = fmt.Sprintf("what encoding takes cannot be measured: %v", err)
	}
	bar.Say("%s", table)
	c.cut = map[*serving.Expert]int64{}
	for _, e := range c.experts {
		c.cut[e] = e.Encoder.CutPassages()
	}
}

// choice is a line of the table.
type choice struct {
	name        string
	passes      int
	dense, late int
}

func (c *costs) table(ctx context.Context) (string, error) {
	mine := choice{name: c.what, passes: len(passesOf(c.experts))}
	var names []string
	for _, e := range c.experts {
		names = append(names, e.Name())
		if e.Late() {
			mine.late++
		} else {
			mine.dense++
		}
	}
	first, others, err := c.measure(ctx)
	if err != nil {
		return "", err
	}
	choices := []choice{mine}
	if c.what == "" {
		all := len(shipped.All()) - 1 // late shares the base's pass
		choices = []choice{{name: "--experts none"}, {name: "--experts " + shipped.ChooseDefault, passes: 1, dense: 1, late: 1}, {name: "--experts " + shipped.ChooseAll, passes: all, dense: all, late: 1}}
		at := slices.IndexFunc([][]string{nil, shipped.Default(), shipped.All()}, func(n []string) bool { return sameNames(n, names) })
		if at >= 0 {
			choices[at].name += " (chosen)"
		} else {
			choices = append(choices, choice{"--experts " + strings.Join(names, ",") + " (chosen)", mine.passes, mine.dense, mine.late})
		}
	}
	var out strings.Builder
	t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "%s, about:\n", plural(c.passages, "passage"))
	for _, x := range choices {
		took := ""
		switch {
		case x.passes == 0:
			took = "no time"
		case first > 0: // else no encoder was opened to measure with
			took = roughly((first + time.Duration(x.passes-1)*others) * time.Duration(c.passages))
		}
		bytes := c.text*int64(textShare+x.late*tokenShare) + c.passages*int64(x.dense)*vectorBytes(dimension)
		_, _ = fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", x.name, plural(int64(x.passes), "pass"), took, count(bytes, "bytes"))
	}
	err = t.Flush()
	return strings.TrimSuffix(out.String(), "\n"), err
}

// measure encodes a sample in the first pass and in the last: the time of one
// passage in the first, and in each other.
func (c *costs) measure(ctx context.Context) (first, others time.Duration, err error) {
	passes := passesOf(c.experts)
	if len(passes) == 0 || len(c.kept) == 0 {
		return 0, 0, nil
	}
	few := c.kept[:min(len(c.kept), mostSampled, max(1, int(c.passages/sampleShare)))]
	shared := serving.SharedPasses(c.experts)
	took := func(e *serving.Expert) (time.Duration, error) {
		began := time.Now()
		var err error
		if at := slices.IndexFunc(shared, func(s collection.SharedPass) bool { return s.Late == e }); at >= 0 {
			_, _, err = shared[at].Encode(ctx, few)
		} else {
			_, err = e.EncodePassages(ctx, few)
		}
		return time.Since(began) / time.Duration(len(few)), err
	}
	if first, err = took(passes[0]); err != nil || len(passes) == 1 {
		return first, first, err
	}
	others, err = took(passes[len(passes)-1])
	return first, others, err
}

// passesOf are the experts whose runs make the vectors of all: late interaction
// that carries its base's stands for both.
func passesOf(all []*serving.Expert) (out []*serving.Expert) {
	for _, e := range all {
		if !slices.ContainsFunc(all, func(late *serving.Expert) bool { return late.Encoder.Carried() == e.Encoder }) {
			out = append(out, e)
		}
	}
	return out
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// roughly is a time to one figure or two: "40 s", "12 min", "3.5 h".
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", max(1, d.Seconds()))
	case d < 100*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// plural counts things: "1 segment", "2,000 passages".
func plural(n int64, thing string) string {
	if n != 1 {
		if last := thing[len(thing)-1]; last == 's' {
			thing += "es"
		} else {
			thing += "s"
		}
	}
	return count(n, "") + " " + thing
}
