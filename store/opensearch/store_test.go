package opensearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/ann/kernel"
	"example.org/conclave/bm25"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	testcluster "example.org/conclave/internal/testing/cluster"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
	"example.org/conclave/store/opensearch/cluster"
	"example.org/conclave/store/opensearch/schema"
)

// hashed gives every word a direction, and a text their sum. It counts what it encodes.
type hashed struct {
	name    string
	late    bool
	owner   string
	from    string // another text of the name's weights: other vectors by another fingerprint
	encoded *atomic.Int64

	dimension int // 0: hashedDimension
}

const hashedDimension = 8

func (h hashed) Name() string                    { return h.name }
func (h hashed) Dimension() int                  { return cmp.Or(h.dimension, hashedDimension) }
func (h hashed) Fingerprint() string             { return "print of " + cmp.Or(h.owner, h.from, h.name) }
func (h hashed) Late() bool                      { return h.late }
func (h hashed) Owner() string                   { return h.owner }
func (h hashed) Parts() func(string) []rank.Span { return nil }

func (h hashed) EncodePassages(_ context.Context, passages []corpus.Passage) (out [][]float32, err error) {
	if h.encoded != nil {
		h.encoded.Add(int64(len(passages)))
	}
	for _, p := range passages {
		sum := make([]float32, h.Dimension())
		var list []float32
		for word := range strings.FieldsSeq(p.Title + " " + p.Text) {
			f := fnv.New64a()
			_, _ = io.WriteString(f, cmp.Or(h.from, h.name)+word)
			random := rand.New(rand.NewPCG(f.Sum64(), 1))
			v := make([]float32, h.Dimension())
			square := 0.0
			for i := range v {
				v[i] = float32(random.NormFloat64())
				square += float64(v[i] * v[i])
			}
			for i := range v {
				v[i] /= float32(math.Sqrt(square))
				sum[i] += v[i]
			}
			list = append(list, v...)
		}
		if h.late {
			out = append(out, list)
			continue
		}
		for i, x := range sum {
			sum[i] = kernel.RoundHalf(x).Float() // which folders keep
		}
		out = append(out, sum)
	}
	return out, nil
}

// list is passages as a source.
type list struct {
	passages []corpus.Passage
	at       int
}

func (l *list) Next() (p corpus.Passage, err error) {
	if l.at == len(l.passages) {
		return p, io.EOF
	}
	l.at++
	return l.passages[l.at-1], nil
}

func (l *list) Place() corpus.Place           { return corpus.Place{Line: l.at} }
func (l *list) Progress() (done, total int64) { return int64(l.at), int64(len(l.passages)) }

// passages draws some, of all that a passage may have.
func passages(seed uint64, n int) (out []corpus.Passage) {
	random := rand.New(rand.NewPCG(seed, 2))
	words := strings.Fields(
		"river Lanterns a_b stone the market's bridge candle of über 東京都 x\"y\\z <b>&amp; 😀 and/or naïve e-mail 3.14",
	)
	text := func(n int) string {
		var out []string
		for range 1 + random.IntN(n) {
			out = append(out, words[random.IntN(len(words))])
		}
		return strings.Join(out, " ")
	}
	for i := range n {
		p := corpus.Passage{ID: fmt.Sprintf("é/%04d \"x\"?%d", random.IntN(10000), i), Text: text(30)}
		if random.IntN(2) == 0 {
			p.Title = text(4)
		}
		for range random.IntN(3) {
			p.Tags = append(p.Tags, text(1))
		}
		if random.IntN(3) == 0 {
			p.Metadata = map[string]any{
				"year":  1900 + random.IntN(100),
				"big":   uint64(1)<<63 + 1,
				"float": 1e-7,
				"text":  text(3),
				"yes":   true,
			}
		}
		out = append(out, p)
	}
	return out
}

// testClient returns a client of three real nodes. On a busy machine it waits for the counts of all shards, so that
// scores are exact.
func testClient(t *testing.T) *cluster.Client {
	t.Helper()
	a, err := cluster.ParseAddress(
		"opensearch+" + strings.ReplaceAll(strings.Join(testcluster.Start(t, 3).URLs, ","), ",http://", ",") + "/x",
	)
	if err != nil {
		t.Fatal(err)
	}
	client, err := cluster.NewClient(a.Nodes, cluster.Access{})
	if err != nil {
		t.Fatal(err)
	}
	client.LeastCountsWait = time.Minute
	return client
}

func testIndex(t *testing.T, client *cluster.Client, name string) string {
	drop := func() {
		for _, n := range []string{name, name + stateSuffix} {
			_, _ = client.Do(context.Background(), "DELETE", "/"+n, nil)
		}
	}
	drop()
	t.Cleanup(drop)
	return name
}

// TestRoundTrip: what an embedded collection has is the same after a way into a cluster
// and back: passages, vectors and codes byte for byte.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "write-round-trip")
	experts := []hashed{{name: "plain"}, {name: "to-kens", late: true}, {name: "second"}, {name: "head", owner: "plain"}}
	options := store.BuildOptions{Words: bm25.Params{K1: 0.9, B: 0.4, Phrases: true}}
	for _, x := range experts {
		options.Experts = append(options.Experts, x)
	}
	first, second := t.TempDir()+"/first", t.TempDir()+"/second"
	given := passages(7, 700)
	if _, err := folder.Build(t.Context(), first, &list{passages: given}, options); err != nil {
		t.Fatal(err)
	}
	before := opened(t, first)
	stored, err := before.StoredEncoders()
	if err != nil {
		t.Fatal(err)
	}
	report, err := Build(
		t.Context(),
		client,
		index,
		schema.Shape{Shards: 3},
		before.Source(),
		store.BuildOptions{Words: before.WordParams(), Experts: stored},
		"calibration: here\n",
	)
	if err != nil || report.Passages != len(given) {
		t.Fatalf("%+v, %v", report, err)
	}
	target, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	if target.Manifest().Calibration != "calibration: here\n" {
		t.Errorf("%+v", target.Manifest())
	}
	scan, err := target.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := folder.Build(t.Context(), second, scan,
		store.BuildOptions{Words: target.Manifest().Words.Params(), Experts: target.Encoders()}); err != nil {
		t.Fatal(err)
	}
	if err := scan.Close(); err != nil {
		t.Error(err)
	}
	sameContent(t, before, opened(t, second))

	// Where a node ends, the state that is read may end with it: after the first page here.
	scan, err = target.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for p, err := scan.Next(); err != io.EOF; p, err = scan.Next() {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
		if len(ids) == 1 {
			if err := scan.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := scan.Close(); err != nil {
		t.Error(err)
	}
	slices.SortFunc(given, func(a, b corpus.Passage) int { return cmp.Compare(a.ID, b.ID) })
	if !slices.EqualFunc(ids, given, func(id string, p corpus.Passage) bool { return id == p.ID }) {
		t.Errorf("%d passages are read, of %d", len(ids), len(given))
	}
}

// TestExpertsComeAndGo: what is there of a passage stays when experts are added and
// removed, codes too, and their field stays one that the nodes score from.
func TestExpertsComeAndGo(t *testing.T) {
	client := testClient(t)
	index := testIndex(t, client, "write-come-and-go")
	given := passages(3, 80)
	late := hashed{name: "tokens", late: true}
	o := store.BuildOptions{Words: bm25.DefaultParams(), Experts: []store.PassageEncoder{hashed{name: "one"}, late}}
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 2}, &list{passages: given}, o, ""); err != nil {
		t.Fatal(err)
	}
	add := func(e hashed) {
		t.Helper()
		if report, err := AddExpert(t.Context(), client, index, e, store.BuildOptions{}); err != nil ||
			report.Passages != len(given) {
			t.Fatalf("%+v, %v", report, err)
		}
		o.Experts = append(o.Experts, e)
		hasContent(t, client, index, given, o)
	}
	add(hashed{name: "two"})
	if answer, err := client.Do(t.Context(), "GET", "/"+index, nil); err != nil ||
		!strings.Contains(string(answer), `"t_tokens":{"type":"binary","doc_values":true}`) {
		t.Errorf("the nodes cannot score the codes: %s, %v", answer, err)
	}
	if err := RemoveExpert(t.Context(), client, index, "tokens"); err != nil {
		t.Fatal(err)
	}
	o.Experts = []store.PassageEncoder{o.Experts[0], o.Experts[2]}
	add(hashed{name: "three"})
	if report, err := AddExpert(t.Context(), client, index, late, store.BuildOptions{}); err != nil ||
		report.Passages != 0 {
		t.Errorf("%+v, %v", report, err) // its codes are there still
	}
	o.Experts = append(o.Experts, late)
	hasContent(t, client, index, given, o)

	// An expert of the same name that was trained again, and then the first one again: the
	// vectors are always those of the one that is there.
	o.Experts = []store.PassageEncoder{o.Experts[0], o.Experts[2], late}
	for _, two := range []hashed{{name: "two", from: "new weights"}, {name: "two"}} {
		if err := RemoveExpert(t.Context(), client, index, "two"); err != nil {
			t.Fatal(err)
		}
		add(two)
		o.Experts = o.Experts[:3]
	}

	// What was begun to be added can be given up.
	ended, end := context.WithCancelCause(t.Context())
	if _, err := AddExpert(ended, client, index, hashed{name: "four", late: true}, store.BuildOptions{Progress: func(store.Progress) { end(errors.New("stop")) }}); err == nil {
		t.Fatal("it was not stopped")
	}
	if err := RemoveExpert(t.Context(), client, index, "four"); err != nil {
		t.Error(err)
	}
	if m, err := Planned(t.Context(), client, index); err != nil || len(m.Experts) != 4 {
		t.Errorf("it is to have %v: %v", m, err)
	}
}

func opened(t *testing.T, dir string) *folder.Generation {
	t.Helper()
	g := collectionIn(t, dir).Acquire()
	t.Cleanup(g.Release)
	return g
}

// sameContent compares all that two generations have, and their files of words.
func sameContent(t *testing.T, a, b *folder.Generation) {
	t.Helper()
	if a.Len() != b.Len() {
		t.Fatalf("%d passages, and %d", a.Len(), b.Len())
	}
	from, to := a.Source(), b.Source()
	for {
		p, err := from.Next()
		q, again := to.Next()
		if err == io.EOF && again == io.EOF {
			break
		}
		if err != nil || again != nil {
			t.Fatal(err, again)
		}
		x, _ := p.AppendBinary(nil)
		y, _ := q.AppendBinary(nil)
		if !slices.Equal(x, y) {
			t.Fatalf("%+v, and %+v", p, q)
		}
		o, _, _ := a.Ordinal(p.ID)
		r, _, _ := b.Ordinal(p.ID)
		for _, e := range a.Experts() {
			v, ok := a.Expert(e.Name)
			w, also := b.Expert(e.Name)
			if !ok || !also {
				t.Fatalf("expert %s: %t, %t", e.Name, ok, also)
			}
			left, err := v.Vector(o)
			right, again := w.Vector(r)
			if err != nil || again != nil ||
				!slices.EqualFunc(left, right, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }) {
				t.Fatalf("passage %q, expert %s: %v, and %v", p.ID, e.Name, left, right)
			}
		}
	}
}
