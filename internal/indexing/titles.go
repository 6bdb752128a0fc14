package indexing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/questions"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// The questions that try titles, and the passages among which theirs are found: one for
// each question, and so many others.
const (
	triedQuestions = 150
	triedOthers    = 300
	triedAtOnce    = 32 // passages
)

// TitleTrial is the result of a trial: how often parts of passages find the right passage of a sample, with the title
// before each part and without.
type TitleTrial struct {
	Expert    string  `json:"expert"` // that does better, or as well with titles
	Questions int     `json:"questions"`
	Passages  int     `json:"passages"`
	Titled    float64 `json:"top1_titled"`
	Untitled  float64 `json:"top1_untitled"`
}

// String returns a sentence with what was compared and which expert was chosen.
func (t TitleTrial) String() string {
	return fmt.Sprintf(
		"of %d questions among %d passages, the right one is first for %.1f %% with the title before each part and for %.1f %% without: %s is indexed",
		t.Questions, t.Passages, 100*t.Titled, 100*t.Untitled, t.Expert,
	)
}

// untitledName returns the name of the same granularity of an expert without titles; "" if the expert has no
// granularity, or one without titles.
func untitledName(name string) string {
	bundle, g, err := experts.SplitName(name)
	if err != nil || g == nil || g.Untitled {
		return ""
	}
	g.Untitled = true
	return bundle + experts.GranularMark + g.String()
}

// withUntitled returns the names of experts, and after them, for each granularity among them, the name of the
// granularity without titles, unless the collection or names has it. It fails if there is none to add, since questions
// then leave no choice.
func withUntitled(names []string, stored []store.Expert) ([]string, error) {
	out := slices.Clone(names)
	for _, name := range names {
		other := untitledName(name)
		if other != "" && !slices.ContainsFunc(stored, func(e store.Expert) bool { return e.Name == other }) &&
			!slices.Contains(out, other) {
			out = append(out, other)
		}
	}
	if len(out) == len(names) {
		return nil, badGranularity(
			"questions serve to choose whether parts have the title before them, and %s leaves no choice: leave the questions out",
			slices.Sorted(slices.Values(names)),
		)
	}
	return out, nil
}

// chooseTitles compares each opened granularity with titles to that without, on a sample of the collection, removes
// the worse of the two from x.Searched, and returns the results. Without a difference the one with titles stays. It
// fails if the sample cannot be made or an encoder fails.
func (o *Options) chooseTitles(ctx context.Context, x *experts.Set) (trials []TitleTrial, err error) {
	sample, err := sampleTitles(o.Config.Collection, o.Questions)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Clone(x.Searched) {
		at := slices.IndexFunc(
			x.Searched, func(other *experts.Expert) bool { return other.Name() == untitledName(e.Name()) },
		)
		if at < 0 {
			continue
		}
		t := TitleTrial{Expert: e.Name(), Questions: len(sample.questions), Passages: len(sample.passages)}
		worse := x.Searched[at]
		t.Titled, err = sample.measureTop1(ctx, e, o.Build.Progress)
		if err != nil {
			return nil, err
		}
		t.Untitled, err = sample.measureTop1(ctx, worse, o.Build.Progress)
		if err != nil {
			return nil, err
		}
		if t.Untitled > t.Titled {
			t.Expert = worse.Name()
			worse = e
		}
		// Its encoder is that of the other.
		x.Searched = slices.DeleteFunc(x.Searched, func(e *experts.Expert) bool { return e == worse })
		trials = append(trials, t)
	}
	return trials, nil
}

// titleSample is the questions and passages of a trial of titles.
type titleSample struct {
	passages  []corpus.Passage
	questions []string
	right     []map[int]bool // places in passages, by question
}

// sampleTitles returns questions of the domains, at most triedQuestions, with the passages that answer them, and
// some other passages of the collection in dir. It fails if no question has an answer there.
func sampleTitles(dir string, domains []questions.Domain) (s titleSample, err error) {
	c, err := folder.Open(dir)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	g := c.Acquire()
	defer g.Release()
	var asked []questions.Question
	for _, d := range domains {
		if err := d.About(g); err != nil {
			return s, err
		}
		for _, q := range d.Questions {
			if relevant, err := q.Among(g); err != nil {
				return s, err
			} else if len(relevant) > 0 {
				asked = append(asked, q)
			}
		}
	}
	if len(asked) == 0 {
		return s, errors.New(
			"the questions name no passage that answers, so that they cannot tell whether parts of passages need the title before them",
		)
	}
	asked = questions.Sample(asked, triedQuestions)
	taken := map[rank.Ordinal]bool{}
	for at := 0; at < g.Ordinals(); at += max(1, g.Ordinals()/triedOthers) {
		if o := rank.Ordinal(at); !g.Deleted(o) {
			taken[o] = true
		}
	}
	relevant := make([]map[rank.Ordinal]float64, len(asked))
	for i, q := range asked {
		relevant[i], err = q.Among(g)
		if err != nil {
			return s, err
		}
		taken[slices.Min(slices.Collect(maps.Keys(relevant[i])))] = true
		s.questions, s.right = append(s.questions, q.Text), append(s.right, map[int]bool{})
	}
	for at, o := range slices.Sorted(maps.Keys(taken)) {
		p, err := g.Passage(o)
		if err != nil {
			return s, err
		}
		s.passages = append(s.passages, p)
		for i := range relevant {
			if _, answers := relevant[i][o]; answers {
				s.right[i][at] = true
			}
		}
	}
	return s, nil
}

// measureTop1 returns the share, from 0 to 1, of the questions whose nearest part, among those of all passages, belongs
// to a passage that answers. It encodes all with the expert. progress may be nil. It fails if encoding does.
func (s *titleSample) measureTop1(
	ctx context.Context, e *experts.Expert, progress func(store.Progress),
) (float64, error) {
	asked := make([][]float32, len(s.questions))
	for i, q := range s.questions {
		v, err := e.Encoder.EncodeQuestion(ctx, q)
		if err != nil {
			return 0, fmt.Errorf("question %q: %w", q, err)
		}
		asked[i] = v
	}
	best, nearest := make([]float32, len(asked)), make([]int, len(asked))
	for from := 0; from < len(s.passages); from += triedAtOnce {
		if progress != nil {
			progress(
				store.Progress{
					Stage:  "trying",
					Expert: e.Name(),
					Done:   int64(from),
					Total:  int64(len(s.passages)),
					Unit:   "passages",
				},
			)
		}
		var parts []corpus.Passage
		var owners []int // passages
		for at := from; at < min(from+triedAtOnce, len(s.passages)); at++ {
			cut, _, err := store.Cut(e, s.passages[at])
			if err != nil {
				return 0, err
			}
			for _, part := range cut {
				parts, owners = append(parts, part), append(owners, at)
			}
		}
		vectors, err := e.EncodePassages(ctx, parts)
		if err != nil {
			return 0, err
		}
		for i, q := range asked {
			for n, v := range vectors {
				dot := float32(0)
				for d := range v {
					dot += q[d] * v[d]
				}
				if from == 0 && n == 0 || dot > best[i] {
					nearest[i] = owners[n]
					best[i] = dot
				}
			}
		}
	}
	right := 0
	for i, at := range nearest {
		if s.right[i][at] {
			right++
		}
	}
	return float64(right) / float64(len(asked)), nil
}
