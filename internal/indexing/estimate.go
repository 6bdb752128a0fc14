package indexing

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/languages"
	"example.org/conclave/internal/rank"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// Passages that are encoded to learn what all will take: one of sampleShare,
// and at most mostSampled.
const (
	sampleShare = 25
	mostSampled = 32
)

// The disk space of a passage, estimated. Its text and words together take twice
// the text. An expert's vector is stored in half precision, in codes of four bits, and
// with its links in the graph. Token vectors grow with the text (measured on the demo and on the
// passages of eight domains).
const (
	textShare   = 2
	tokenShare  = 4
	vectorBytes = 5*384/2 + linkBytes
	linkBytes   = 110
)

// Sample is a stream of passages that keeps some of them, spread evenly over what was read.
type Sample struct {
	store.Stream
	passages, text int64 // and bytes of text
	untexted       int64 // passages with a title alone
	every          int64 // of so many one is kept; 0: 1
	kept           []corpus.Passage
}

// Next returns the next passage of the stream, or the stream's error, such as io.EOF. It also keeps a sample of the
// passages, at most 2*mostSampled: when there are so many, it drops every second one and keeps further ones half as
// often.
func (s *Sample) Next() (corpus.Passage, error) {
	p, err := s.Stream.Next()
	if err != nil {
		return p, err
	}
	if s.passages%max(s.every, 1) == 0 {
		s.kept = append(s.kept, p)
		if len(s.kept) == 2*mostSampled {
			for i := range mostSampled {
				s.kept[i] = s.kept[2*i]
			}
			s.kept = s.kept[:mostSampled]
			s.every = 2 * max(s.every, 1)
		}
	}
	s.passages++
	if strings.TrimSpace(p.Text) == "" {
		s.untexted++
	}
	s.text += int64(len(p.Title) + len(p.Text))
	return p, nil
}

// languages returns the codes of the languages of the passages that were kept, the most frequent first; nil if no
// language is clear. Passages that are too short are left out.
func (s *Sample) languages() []string {
	var texts []string
	for _, p := range s.kept {
		texts = append(texts, languages.TellingPart(p.Title, p.Text))
	}
	return languages.Of(texts)
}

// SampleOf returns a sample of the passages of the collection in a folder, without a stream to read on. The length
// of all texts is estimated by the sample's. It fails if the collection cannot be opened.
func SampleOf(dir string) (*Sample, error) {
	c, err := folder.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	g := c.Acquire()
	defer g.Release()
	s := &Sample{passages: int64(g.Len())}
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

// Choice is the estimated cost of indexing with a choice of experts.
type Choice struct {
	Experts string // as the experts of a new collection are chosen
	Chosen  bool
	Passes  int
	Took    time.Duration // 0 where none was measured
	Bytes   int64         // on disk
	Sent    []SentText    // of a choice of the caller's
}

// SentText is what indexing sends to an expert behind an HTTP interface.
type SentText struct {
	Expert string
	To     experts.RemoteInfo
	Tokens int64 // about
}

// Cost returns the tokens in words and, where their price is known, what they cost.
func (s SentText) Cost() string { return costText(s.Tokens, s.To.Price) }

// sentBy returns what indexing sends to the experts behind interfaces, by the tokens that they counted of a sample
// where one was sent.
func (s *Sample) sentBy(all []*experts.Expert) (out []SentText) {
	for _, e := range all {
		to := e.Remote()
		if to == nil || e.Owner() != "" {
			continue
		}
		tokens := s.text / tokenBytes
		if sent := e.RemoteStats(); sent.Bytes > 0 && sent.Texts > leastCounted {
			tokens = int64(float64(s.text) * float64(sent.Tokens) / float64(sent.Bytes))
		}
		out = append(out, SentText{e.Name(), *to, tokens})
	}
	return out
}

// A token has about so many bytes, where fewer texts than leastCounted were sent, by which that is known better.
const (
	tokenBytes   = 4
	leastCounted = 8
)

// estimate is the estimated cost of indexing, by a sample of passages that was encoded.
type estimate struct {
	passages      int64
	text          int64         // bytes
	first, others time.Duration // of a passage, in the first pass and in each other; 0: not measured
}

// shape is the number of experts of each kind, and of the passes that encode for them. One pass of late interaction
// that also gives its base's vectors counts once.
type shape struct {
	passes, late int
	dense        float64 // vectors of a passage, as of 384 numbers (vectorsOf384)
}

// shapeOf returns, for indexing with these experts, how many encoders have to run (passes), how many of the experts are
// of late interaction (late), and how many vectors a passage gets of the others (dense), counted as ones of 384
// numbers: for a granularity as many as the sample's passages have parts on average, otherwise one for each expert.
func (s *Sample) shapeOf(all []*experts.Expert) shape {
	out := shape{passes: len(passesOf(all))}
	for _, e := range experts.WithVectors(all) {
		switch parts := s.splitParts(e, s.kept); {
		case e.Late():
			out.late++
		case e.Parts() == nil || len(parts) == 0:
			out.dense += vectorsOf384(e)
		default:
			out.dense += vectorsOf384(e) * float64(len(parts)) / float64(len(s.kept))
		}
	}
	return out
}

// vectorsOf384 returns how many vectors of 384 numbers take as much space as one of an expert; 1 for a sparse one.
func vectorsOf384(e *experts.Expert) float64 {
	if e.Sparse() {
		return 1
	}
	return float64(5*e.Dimension()/2+linkBytes) / vectorBytes
}

// splitParts returns the passages that an expert encodes: the parts of each one, with its title and nothing else of
// it, or, if the expert does not split passages, the passages themselves.
func (s *Sample) splitParts(e *experts.Expert, passages []corpus.Passage) []corpus.Passage {
	split := e.Parts()
	if split == nil {
		return passages
	}
	var out []corpus.Passage
	for _, p := range passages {
		for _, part := range split(p.Text) {
			out = append(out, corpus.Passage{Title: p.Title, Text: p.Text[part.Begin:part.End]})
		}
	}
	return out
}

// estimateExperts encodes some of the sample's passages, at most mostSampled, with the first and the last of the
// experts that have to run, and returns the estimate: the time of a passage in the first pass, and in each other
// one by the last. Times are 0 without experts or passages. The error is that of an encoder.
func (s *Sample) estimateExperts(ctx context.Context, all []*experts.Expert) (e estimate, err error) {
	e = estimate{passages: s.passages, text: s.text}
	passes := passesOf(all)
	if len(passes) == 0 || len(s.kept) == 0 {
		return e, nil
	}
	few := s.kept[:min(len(s.kept), mostSampled, max(1, int(s.passages/sampleShare)))]
	shared := experts.SharedPasses(all)
	took := func(e *experts.Expert) (time.Duration, error) {
		began := time.Now()
		var err error
		if at := slices.IndexFunc(shared, func(s store.SharedPass) bool { return s.Late == e }); at >= 0 {
			_, _, err = shared[at].Encode(ctx, few)
		} else {
			_, err = e.EncodePassages(ctx, s.splitParts(e, few))
		}
		return time.Since(began) / time.Duration(len(few)), err
	}
	e.first, err = took(passes[0])
	if err == nil && len(passes) > 1 {
		e.others, err = took(passes[len(passes)-1])
	} else {
		e.others = e.first
	}
	return e, err
}

// choiceOf returns the estimated cost with experts of a shape.
func (e estimate) choiceOf(s shape) Choice {
	c := Choice{
		Passes: s.passes,
		Bytes:  e.text*int64(textShare+s.late*tokenShare) + int64(math.Round(float64(e.passages)*s.dense*vectorBytes)),
	}
	if s.passes > 0 {
		c.Took = (e.first + time.Duration(s.passes-1)*e.others) * time.Duration(e.passages)
	}
	return c
}

// listChoices returns the cost of indexing with no experts, with the default ones and with all shipped ones, and
// after these of the chosen ones, whose shape is chosenShape, unless they are one of these. Chosen is set for the
// chosen ones.
func (e estimate) listChoices(chosen []*experts.Expert, chosenShape shape) (out []Choice) {
	var names []string
	for _, x := range chosen {
		names = append(names, x.Name())
	}
	mine := e.choiceOf(chosenShape)
	isNamed := false
	mine.Chosen = true
	all := len(shipped.All()) - 2 // late and desire-me share the base's pass
	for _, named := range []struct {
		name    string
		experts []string
		shape
	}{
		{shipped.ChooseNone, nil, shape{}},
		{shipped.ChooseDefault, shipped.Default(), shape{passes: 1, dense: 1, late: 1}},
		{shipped.ChooseAll, shipped.All(), shape{passes: all, dense: float64(all), late: 1}},
	} {
		c := e.choiceOf(named.shape)
		if shipped.SameNames(named.experts, names) {
			c, isNamed = mine, true
		}
		c.Experts = named.name
		out = append(out, c)
	}
	if !isNamed {
		mine.Experts = strings.Join(names, ",")
		out = append(out, mine)
	}
	return out
}

// passesOf returns the experts whose encoders have to run to get the vectors of all, in their order: those with
// vectors of their own, without those whose vectors a run of late interaction gives, too.
func passesOf(all []*experts.Expert) (out []*experts.Expert) {
	all = experts.WithVectors(all)
	for _, e := range all {
		if e.Granularity != nil ||
			!slices.ContainsFunc(all, func(late *experts.Expert) bool { return late.Encoder.Carried() == e.Encoder }) {
			out = append(out, e)
		}
	}
	return out
}
