package endtoend

import (
	"context"
	"math"
	"sort"
	"testing"

	"example.org/conclave/search"
	"example.org/conclave/search/reply"
)

// written is one question answered by MUF, written out from the paper: the
// ensembles' layers, the softmax, the mutual information and the sums in
// float64 and in plain loops, from the vectors that the encoders give and the
// weights that the bundles were made with. Nothing of fusion, search, ann or
// collection is in it.
type written struct {
	order       []int // passages by ordinal
	score       map[int]float64
	confidence  map[string]float64
	information map[string]float64
	weight      map[string]float64
	found       map[string]map[int]int // rank of a passage in an expert's list
}

func (l *library) writeOut(t *testing.T, question string, candidates int, missing string) written {
	t.Helper()
	ctx := context.Background()
	w := written{
		score:       map[int]float64{},
		confidence:  map[string]float64{},
		information: map[string]float64{},
		weight:      map[string]float64{},
		found:       map[string]map[int]int{},
	}
	scores := map[string][]float64{} // of every passage
	union := map[int]bool{}
	sum := 0.0
	for _, name := range l.names {
		x := l.experts[name]
		q, err := x.Encoder.EncodeQuestion(ctx, question)
		if err != nil {
			t.Fatal(err)
		}
		stored := make([][]float32, len(l.passages))
		scores[name] = make([]float64, len(stored))
		order := make([]int, len(stored))
		for i, p := range l.passages {
			stored[i] = x.stored[p.ID]
			scores[name][i] = product(q, stored[i])
			order[i] = i
		}
		sort.SliceStable(order, func(i, j int) bool { return scores[name][order[i]] > scores[name][order[j]] })

		depth := x.Bundle.Calibration.Depth
		var p [][]float64 // by member, over the first hits
		for _, m := range x.options.Members() {
			u := forward(m, q)
			z := 0.0
			row := make([]float64, depth)
			for i, o := range order[:depth] {
				row[i] = math.Exp(dot(u, stored[o]) / x.Bundle.Calibration.Temperature)
				z += row[i]
			}
			for i := range row {
				row[i] /= z
			}
			p = append(p, row)
		}
		information := 0.0
		for i := range depth {
			mean := 0.0
			for _, row := range p {
				mean += row[i] / float64(len(p))
				information += row[i] * math.Log(row[i]+1e-6) / float64(len(p))
			}
			information -= mean * math.Log(mean+1e-6)
		}
		w.information[name] = information
		w.confidence[name] = 1 - information/math.Log(float64(len(p)))
		w.weight[name] = math.Pow(w.confidence[name], 3) // the sharpness of a request that names none
		sum += w.weight[name]

		w.found[name] = map[int]int{}
		for i, o := range order[:candidates] {
			w.found[name][o] = i + 1
			union[o] = true
		}
		if missing == "min" {
			lowest := scores[name][order[candidates-1]]
			for o := range scores[name] {
				if w.found[name][o] == 0 {
					scores[name][o] = lowest
				}
			}
		}
	}
	for _, name := range l.names {
		w.weight[name] /= sum
		for o := range union {
			w.score[o] += w.weight[name] * scores[name][o]
		}
	}
	for o := range union {
		w.order = append(w.order, o)
	}
	sort.Slice(w.order, func(i, j int) bool {
		a, b := w.score[w.order[i]], w.score[w.order[j]]
		return a > b || a == b && w.order[i] < w.order[j]
	})
	return w
}

// forward returns a member's product with a vector.
func forward(member, vector []float32) []float64 {
	d := len(vector)
	out := make([]float64, d)
	for o := range out {
		for i, v := range vector {
			out[o] += float64(member[o*d+i]) * float64(v)
		}
	}
	return out
}

func product(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func dot(a []float64, b []float32) (sum float64) {
	for i := range a {
		sum += a[i] * float64(b[i])
	}
	return sum
}

// asTyped: the vocabulary of the tiny encoders has no words, so that those that the
// collection lacks would be taken for mistyped, and other questions written out than asked.
var asTyped = false

// TestMUF: the engine's answer, through ONNX Runtime and a collection on disk,
// is the one that is written out.
func TestMUF(t *testing.T) {
	for _, kind := range []string{"flat", "hnsw"} {
		t.Run(kind, func(t *testing.T) {
			l := open(t, kind)
			spread := map[string][2]float64{} // of confidences
			for _, missing := range []string{"exact", "min"} {
				for _, question := range questions(t, 12) {
					want := l.writeOut(t, question, 25, missing)
					got, err := l.Engine.Search(context.Background(), search.Caller{}, search.Request{
						Question: question, Fusion: search.Methods{Names: []string{"muf"}}, K: 75, Candidates: 25,
						Correct: &asTyped, Missing: missing, Exact: kind == "hnsw", TimeoutMS: 10000,
					})
					if err != nil {
						t.Fatal(err)
					}
					l.compare(t, got, want, missing)
					for name, c := range want.confidence {
						s, ok := spread[name]
						if !ok {
							s = [2]float64{c, c}
						}
						spread[name] = [2]float64{min(s[0], c), max(s[1], c)}
					}
				}
			}
			// A confidence that is always 0 or always 1 would prove nothing.
			for name, s := range spread {
				if s[0] < .01 || s[1] > .999 || s[1]-s[0] < .01 {
					t.Errorf("confidences of %s are from %v to %v over the questions", name, s[0], s[1])
				}
			}
		})
	}
}

// compare allows what float32 rounds, and that a number of a vector which another batch gives a bit smaller is rounded
// to the next of half precision, and no more: two passages may change places where their scores are equal but for that.
func (l *library) compare(t *testing.T, got reply.Response, want written, missing string) {
	t.Helper()
	const rounding = 5e-5
	if len(got.Degraded) > 0 || len(got.Results) != len(want.order) {
		t.Fatalf("%d results, %d written out; degraded: %v", len(got.Results), len(want.order), got.Degraded)
	}
	ordinals := map[string]int{}
	for o, p := range l.passages {
		ordinals[p.ID] = o
	}
	for i, r := range got.Results {
		o, ok := ordinals[r.ID]
		if !ok {
			t.Fatalf("%q is no passage of the collection", r.ID)
		}
		if o != want.order[i] && math.Abs(want.score[o]-want.score[want.order[i]]) > rounding {
			t.Errorf(
				"rank %d: %s with %v, written out %s with %v",
				i+1,
				r.ID,
				want.score[o],
				l.passages[want.order[i]].ID,
				want.score[want.order[i]],
			)
		}
		if math.Abs(r.Score-want.score[o]) > rounding {
			t.Errorf("%s: score %v, written out %v", r.ID, r.Score, want.score[o])
		}
		if r.Title != l.passages[o].Title || r.Text != l.passages[o].Text {
			t.Errorf("%s has another passage's text", r.ID)
		}
		sum := 0.0
		for _, c := range r.Contributions {
			sum += c.Contribution
			place := want.found[c.Source][o]
			switch {
			case c.Rank == nil && c.Origin != missing, c.Rank != nil && c.Origin != "hit":
				t.Errorf("%s by %s: origin %q, rank %v", r.ID, c.Source, c.Origin, c.Rank)
			case (c.Rank != nil) != (place > 0) && place != 0 && place < 24:
				t.Errorf("%s by %s: rank %v, written out %d", r.ID, c.Source, c.Rank, place)
			}
		}
		if math.Abs(sum-r.Score) > 1e-6 {
			t.Errorf("%s: contributions add up to %v, score %v", r.ID, sum, r.Score)
		}
	}
	mean := 0.0
	for _, s := range got.Sources {
		mean += want.confidence[s.Name] / float64(len(l.names))
		for what, pair := range map[string][2]float64{
			"confidence":         {*s.Confidence, want.confidence[s.Name]},
			"weight":             {*s.Weight, want.weight[s.Name]},
			"mutual information": {*s.Uncertainty, want.information[s.Name]},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-4 { // a softmax at τ = 0.02 magnifies rounding
				t.Errorf("%s: %s %v, written out %v", s.Name, what, pair[0], pair[1])
			}
		}
	}
	if got.Confidence == nil || math.Abs(*got.Confidence-mean) > 1e-4 {
		t.Errorf("confidence %v, written out %v", got.Confidence, mean)
	}
}
