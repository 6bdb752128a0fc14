package view

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/bm25"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// hashed gives every word a direction, and a text their sum; equal texts have equal
// vectors. It encodes questions and passages, and late interaction too.
type hashed struct {
	name  string
	late  bool
	parts bool   // every two words that follow each other are a part
	owner string // whose vectors it searches
}

const hashedDimension = 8

func (h hashed) Name() string        { return h.name }
func (h hashed) Dimension() int      { return hashedDimension }
func (h hashed) Fingerprint() string { return cmp.Or(h.owner, h.name) }
func (h hashed) Late() bool          { return h.late }

func (h hashed) Owner() string { return h.owner }

func (h hashed) Parts() func(string) []rank.Span {
	if !h.parts {
		return nil
	}
	return func(text string) (out []rank.Span) {
		words := regexp.MustCompile(`\S+`).FindAllStringIndex(text, -1)
		for i := 1; i < len(words); i++ {
			out = append(out, rank.Span{Begin: uint32(words[i-1][0]), End: uint32(words[i][1])})
		}
		return out
	}
}

func (h hashed) vector(word string) []float32 {
	f := fnv.New64a()
	_, _ = io.WriteString(f, h.Fingerprint()+word)
	random := rand.New(rand.NewPCG(f.Sum64(), 1))
	out := make([]float32, hashedDimension)
	square := 0.0
	for i := range out {
		out[i] = float32(random.NormFloat64())
		square += float64(out[i] * out[i])
	}
	for i := range out {
		out[i] /= float32(math.Sqrt(square))
	}
	return out
}

func (h hashed) EncodeQuestion(_ context.Context, text string) ([]float32, error) {
	sum := make([]float32, hashedDimension)
	var list []float32
	for word := range strings.FieldsSeq(text) {
		v := h.vector(word)
		list = append(list, v...)
		for i := range sum {
			sum[i] += v[i]
		}
	}
	if h.late {
		return list, nil
	}
	for i, x := range sum {
		sum[i] = kernel.RoundHalf(x).Float() // which indexes keep
	}
	return sum, nil
}

func (h hashed) EncodePassages(ctx context.Context, passages []corpus.Passage) (out [][]float32, err error) {
	for _, p := range passages {
		v, _ := h.EncodeQuestion(ctx, p.Text)
		out = append(out, v)
	}
	return out, nil
}

func (hashed) QuestionTokens(string) (int, bool) { return 0, false }

func (hashed) KnownWords(string) (words, whole, unknown int) { return 0, 0, 0 }

func (hashed) Readable(string) float64 { return 1 }

// Members returns the question's vector turned a little, three times.
func (h hashed) Members(_ context.Context, vector []float32) (out []float32, err error) {
	for m := range h.EnsembleMembers() {
		turned := slices.Clone(vector)
		turned[m] += .25
		out = append(out, turned...)
	}
	return out, nil
}

func (hashed) EnsembleMembers() int { return 3 }

// list is a source of passages.
type list struct{ passages []corpus.Passage }

func (l *list) Next() (corpus.Passage, error) {
	if len(l.passages) == 0 {
		return corpus.Passage{}, io.EOF
	}
	p := l.passages[0]
	l.passages = l.passages[1:]
	return p, nil
}

func (l *list) Place() corpus.Place           { return corpus.Place{} }
func (l *list) Progress() (done, total int64) { return -1, -1 }

// TestAnswersDoNotDependOnSegments: a text full of duplicates, in one segment, in
// several, put in in other orders, and merged: every method gives the same answers,
// with the same scores to the last digit shown, wherever lists are cut. What ties is
// in the order of ids.
func TestAnswersDoNotDependOnSegments(t *testing.T) {
	const seed = 15
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	vocabulary := strings.Fields("windmill river stone lantern orchard winter market bridge candle harbour")
	word := func() string { return vocabulary[random.IntN(len(vocabulary))] }
	texts := make([]string, 30)
	for i := range texts {
		some := make([]string, 2+random.IntN(5))
		for n := range some {
			some[n] = word()
		}
		slices.Sort(some) // two orders of the same words would differ in a last bit
		texts[i] = strings.Join(some, " ")
	}
	passages := make([]corpus.Passage, 240)
	textOf := map[string]string{}
	for i := range passages {
		passages[i] = corpus.Passage{ID: fmt.Sprintf("p%03d", i), Text: texts[random.IntN(len(texts))]}
		textOf[passages[i].ID] = passages[i].Text
	}

	experts := []hashed{
		{name: "base"},
		{name: "health"},
		{name: "parts", parts: true},
		{name: "head", owner: "parts"},
		{name: "tokens", late: true},
	}
	words := bm25.DefaultParams()
	words.Phrases = true
	options := store.BuildOptions{Index: store.Index{Kind: "flat"}, Words: words, Threads: 1}
	for _, x := range experts {
		options.Experts = append(options.Experts, x)
	}
	gate := gateOf(random)

	engineOf := func(order []int, segments int, merged bool) *search.Engine {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "index")
		var names []string
		for s := range segments {
			part := &list{}
			for _, i := range order[s*len(order)/segments : (s+1)*len(order)/segments] {
				part.passages = append(part.passages, passages[i])
			}
			var report store.BuildReport
			var err error
			if s == 0 {
				report, err = folder.Build(t.Context(), dir, part, options)
			} else {
				report, err = added(t, dir, part, options)
			}
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, report.Segment)
		}
		if merged {
			if _, err := folder.Merge(t.Context(), dir, names[1:], store.BuildOptions{Threads: 1}); err != nil {
				t.Fatal(err)
			}
		}
		c, err := folder.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		config := engineOf(c)
		config.Reference, config.Defaults.Gate = "base", gate
		for _, x := range experts {
			e := learned.Expert{Name: x.name, Encoder: x, Info: learned.ExpertInfo{Dimension: hashedDimension}}
			if x.late {
				config.Late = append(config.Late, e)
				continue
			}
			if x.parts {
				e.Granularity = "1"
			}
			e.Ensemble = x
			e.Info.Calibration = &learned.CalibrationInfo{Temperature: .1, Depth: 20}
			if x.name == "health" {
				e.Representatives = slices.Concat(x.vector("winter"), x.vector("river"))
			}
			config.Experts = append(config.Experts, e)
		}
		engine, err := search.NewEngine(config)
		if err != nil {
			t.Fatal(err)
		}
		return engine
	}
	inOrder := make([]int, len(passages))
	for i := range inOrder {
		inOrder[i] = i
	}
	one := engineOf(inOrder, 1, false)
	others := map[string]*search.Engine{
		"seven segments, in order":          engineOf(inOrder, 7, false),
		"seven segments, in another order":  engineOf(random.Perm(len(passages)), 7, false),
		"three segments, in a third order":  engineOf(random.Perm(len(passages)), 3, false),
		"of nine, all but the first merged": engineOf(random.Perm(len(passages)), 9, true),
	}

	var requests []search.Request
	for _, method := range search.MethodNames() {
		r := search.Request{Fusion: search.Methods{Names: []string{method}}}
		requests = append(requests, r)
		if method == fusion.MethodSum || method == fusion.MethodHybrid || method == fusion.MethodMUF {
			for _, n := range fusion.Normalisations() {
				r.Normalisation = string(n)
				for _, r.Missing = range []string{"exact", "min"} {
					requests = append(requests, r)
				}
			}
		}
		if method == fusion.MethodSum || method == fusion.MethodRRF {
			requests = append(requests, search.Request{Fusion: r.Fusion, Experts: &[]string{}})
		}
	}
	ties, cut := 0, 0
	for range 5 {
		question := word() + " " + word() + " " + word()
		for _, r := range requests {
			r.Question = question
			r.Fields = []string{}
			r.TimeoutMS = 10_000
			r.Collapse = new(false)
			for _, r.K = range []int{3, 10, 35} {
				for _, r.Candidates = range []int{20, 100} {
					want := asked(t, one, r)
					for i := 1; i < len(want); i++ {
						if textOf[want[i].ID] == textOf[want[i-1].ID] && want[i].Score == want[i-1].Score {
							ties++
							if want[i].ID < want[i-1].ID {
								t.Fatalf("%+v: %s comes before %s, and they have the same text", r, want[i-1].ID, want[i].ID)
							}
						}
					}
					cut++
					for name, engine := range others {
						if got := asked(t, engine, r); !reflect.DeepEqual(got, want) {
							t.Fatalf("%s: %+v\none segment: %s\nthis:        %s", name, r, show(want), show(got))
						}
					}
				}
			}
		}
	}
	if ties < cut {
		t.Errorf("%d ties in %d answers: the text has too few duplicates to show anything", ties, cut)
	}
}

// gateOf returns a gate that reads all there is to read, and weighs it anyhow.
func gateOf(random *rand.Rand) *fusion.Gate {
	gate := &fusion.Gate{Words: -1, Phrases: .3, Near: .4, BesideNear: .7, Tokens: .5,
		Dense: make(
			[]float64, len(fusion.DenseFeatureNames()),
		), Lexical: make([]float64, len(fusion.LexicalFeatureNames())), Late: make([]float64, len(fusion.LateFeatureNames()))}
	for _, coefficients := range [][]float64{gate.Dense, gate.Lexical, gate.Late} {
		for i := range coefficients {
			coefficients[i] = random.NormFloat64() / 3
		}
	}
	return gate
}

// added puts a source's passages into a collection, as a segment of their own.
func added(t *testing.T, dir string, source store.Stream, o store.BuildOptions) (store.BuildReport, error) {
	t.Helper()
	o.Words = bm25.Params{}
	return folder.Add(t.Context(), dir, source, o)
}

func asked(t *testing.T, e *search.Engine, r search.Request) []reply.Result {
	t.Helper()
	response, err := e.Search(t.Context(), search.Caller{}, r)
	if err != nil || len(response.Degraded) > 0 {
		t.Fatalf("%+v: %v, %+v", r, err, response.Degraded)
	}
	return response.Results
}

func show(results []reply.Result) (out string) {
	for _, r := range results {
		out += fmt.Sprintf("%s %v, ", r.ID, r.Score)
	}
	return out
}
