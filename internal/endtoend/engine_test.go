package endtoend

import (
	"context"
	"errors"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/testing/cluster"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/lookup"
	"example.org/conclave/search/reply"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// ending ends the cluster that tests share before goroutines are looked for.
type ending struct{ *testing.M }

func (e ending) Run() int {
	defer cluster.End()
	return e.M.Run()
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(ending{m}, goleak.Cleanup(func(code int) {
		removeBinary()
		os.Exit(code)
	}))
}

func ask(t *testing.T, l *library, r search.Request) reply.Response {
	t.Helper()
	if r.TimeoutMS == 0 {
		r.TimeoutMS = 10000
	}
	got, err := l.Engine.Search(context.Background(), search.Caller{}, r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// same compares answers: the same passages in the same order, scores and
// confidences within 1e-5, of the score where that is above 1. (A longer
// neighbour in its batch moves a question's vector by some 1e-7, and z-scores
// divide by the small deviation that scores of random weights have.)
func same(t *testing.T, got, want reply.Response) {
	for n, ranking := range want.Rankings {
		other := got.Rankings[n]
		if len(other.Results) != len(ranking.Results) {
			t.Errorf("%q by %s: %d results, alone %d", want.Question, ranking.Fusion, len(other.Results), len(ranking.Results))
			return
		}
		for i, r := range ranking.Results {
			if o := other.Results[i]; o.ID != r.ID || math.Abs(o.Score-r.Score) > 1e-5*max(1, math.Abs(r.Score)) {
				t.Errorf(
					"%q by %s: rank %d is %s with %v, alone %s with %v",
					want.Question,
					ranking.Fusion,
					i+1,
					o.ID,
					o.Score,
					r.ID,
					r.Score,
				)
			}
		}
	}
	for i, s := range want.Sources {
		if o := got.Sources[i]; s.Confidence != nil && math.Abs(*o.Confidence-*s.Confidence) > 1e-5 {
			t.Errorf("%q: confidence of %s is %v, alone %v", want.Question, s.Name, *o.Confidence, *s.Confidence)
		}
	}
}

// everyMethod but cce, which needs vectors of parts of passages.
func everyMethod() search.Methods {
	names := slices.DeleteFunc(search.MethodNames(), func(name string) bool { return name == fusion.MethodCCE })
	return search.Methods{Names: names, Listed: true}
}

// TestEveryMethod: all methods over experts and BM25, in one pass, with their
// sums.
func TestEveryMethod(t *testing.T) {
	l := open(t, "hnsw")
	words := 0
	for _, question := range questions(t, 20) {
		got := ask(t, l, search.Request{Question: question, Fusion: everyMethod(), Explain: true, K: 20})
		if len(got.Rankings) != len(everyMethod().Names) || len(got.Sources) != 4 || len(got.Degraded) != 0 ||
			got.Generation == 0 {
			t.Fatalf("%+v", got)
		}
		for _, ranking := range got.Rankings {
			for i, r := range ranking.Results {
				sum := 0.0
				for _, c := range r.Contributions {
					sum += c.Contribution
					if c.Source != "bm25" || c.Score == nil {
						continue
					}
					terms := 0.0
					for _, term := range r.Explanation {
						terms += term.Score
						words++
					}
					if math.Abs(terms-*c.Score) > 1e-4 {
						t.Errorf("%s, %s: BM25's terms add up to %v, its score is %v", ranking.Fusion, r.ID, terms, *c.Score)
					}
				}
				if math.Abs(sum-r.Score) > 1e-6 || i > 0 && ranking.Results[i-1].Score < r.Score {
					t.Errorf("%s, rank %d: score %v, contributions %v", ranking.Fusion, r.Rank, r.Score, sum)
				}
			}
			if len(ranking.Results) != 20 || (ranking.Confidence != nil) != strings.HasPrefix(ranking.Fusion, "muf") {
				t.Errorf("%s: %d results, confidence %v", ranking.Fusion, len(ranking.Results), ranking.Confidence)
			}
		}
	}
	if words == 0 {
		t.Error("no question had a word in common with its results")
	}
}

// TestSameForEveryone: the answer to a question does not depend on what else
// is being asked, though encoders batch questions together.
func TestSameForEveryone(t *testing.T) {
	l := open(t, "flat")
	all := questions(t, 16)
	requests := make([]search.Request, len(all))
	alone := make([]reply.Response, len(all))
	for i, question := range all {
		requests[i] = search.Request{Question: question, Fusion: everyMethod(), TimeoutMS: 10000}
		alone[i] = ask(t, l, requests[i])
	}
	var crowd sync.WaitGroup
	for range 4 {
		crowd.Go(func() {
			i := 0
			err := l.Engine.Batch(context.Background(), search.Caller{}, requests, func(a search.Answer) error {
				if a.Err != nil {
					t.Error(a.Err)
				} else {
					same(t, a.Response, alone[i])
				}
				i++
				return nil
			})
			if err != nil || i != len(requests) {
				t.Error(i, err)
			}
		})
	}
	crowd.Wait()
}

// TestExpertGone: an expert whose encoder has ended is left out, and the
// others answer as if it had not been asked.
func TestExpertGone(t *testing.T) {
	l := open(t, "flat")
	question := questions(t, 1)[0]
	others := []string{"north", "east"}
	want := ask(t, l, search.Request{Question: question, Fusion: everyMethod(), Experts: &others})
	if err := l.experts["south"].Encoder.Close(); err != nil {
		t.Fatal(err)
	}
	got := ask(t, l, search.Request{Question: question, Fusion: everyMethod()})
	if len(got.Degraded) != 1 || got.Degraded[0].Source != "south" || got.Sources[1].Status != reply.StatusFailed {
		t.Errorf("degraded %+v, sources %+v", got.Degraded, got.Sources)
	}
	if !reflect.DeepEqual(got.Rankings, want.Rankings) {
		t.Errorf("rankings %+v\nwithout the expert: %+v", got.Rankings, want.Rankings)
	}
	south := []string{"south"}
	_, err := l.Engine.Search(
		context.Background(), search.Caller{},
		search.Request{Question: question, Fusion: search.Methods{Names: []string{"muf"}}, Experts: &south},
	)
	if e, ok := errors.AsType[*fault.Error](err); !ok || e.Kind != fault.Unavailable {
		t.Errorf("the expert alone: %v", err)
	}
}

// TestGrowth: passages that are added are found once the collection has been
// read again, and MUF over two segments is still the one that is written out.
func TestGrowth(t *testing.T) {
	l := open(t, "flat")
	before := ask(t, l, search.Request{Question: questions(t, 1)[0]})
	source, err := corpus.OpenSeries([]corpus.Input{{Path: l.write(t, 16, 20)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Add(context.Background(), l.dir, source,
		store.BuildOptions{Experts: encoders(l.Experts)}); err != nil {
		t.Fatal(err)
	}
	_ = source.Close()
	watching, stop := context.WithCancel(t.Context())
	l.Store.Watch(watching, untilCame{stop})
	old := len(l.passages)
	l.read(t)
	if len(l.passages) <= old {
		t.Fatalf("%d passages, %d before", len(l.passages), old)
	}
	found := 0
	for _, question := range questions(t, 6) {
		got := ask(
			t,
			l,
			search.Request{
				Question:   question,
				Fusion:     search.Methods{Names: []string{"muf"}},
				K:          75,
				Candidates: 25,
				Correct:    &asTyped,
			},
		)
		l.compare(t, got, l.writeOut(t, question, 25, "exact"), "exact")
		if got.Generation <= before.Generation {
			t.Errorf("generation %d, before it was %d", got.Generation, before.Generation)
		}
		for _, r := range got.Results {
			for _, p := range l.passages[old:] {
				if r.ID == p.ID {
					found++
				}
			}
		}
	}
	if found == 0 {
		t.Error("no passage of the second segment was ever found")
	}
}

// TestEmbed: the vectors of the API are those of the index.
func TestEmbed(t *testing.T) {
	l := open(t, "flat")
	for _, name := range l.names {
		x := l.experts[name]
		text := l.passages[3].Text
		want, err := x.EncodePassages(context.Background(), []corpus.Passage{{ID: "untitled", Text: text}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Engine.Embed(
			context.Background(), search.Caller{},
			lookup.EmbedRequest{Expert: name, Kind: "passage", Input: []string{text}},
		)
		if err != nil || got.Dimension != x.Dimension() || !reflect.DeepEqual(got.Embeddings, want) {
			t.Errorf("%s: passage %v, %v", name, got.Embeddings, err)
		}
		question, err := x.Encoder.EncodeQuestion(context.Background(), text)
		if err != nil {
			t.Fatal(err)
		}
		got, err = l.Engine.Embed(context.Background(), search.Caller{}, lookup.EmbedRequest{Expert: name, Input: []string{text, "another"}})
		if err != nil || len(got.Embeddings) != 2 || !reflect.DeepEqual(got.Embeddings[0], question) {
			t.Errorf("%s: question %v, %v", name, got.Embeddings, err)
		}
	}
}

// untilCame ends the watching of a store when searches see what another process published.
type untilCame struct{ stop func() }

func (u untilCame) Came(store.Contents)        { u.stop() }
func (u untilCame) Comes(store.Contents) error { return nil }
func (u untilCame) Recalibrated()              {}
func (u untilCame) ReadsPassages(store.Reads)  {}
func (u untilCame) Is(store.Condition)         {}
