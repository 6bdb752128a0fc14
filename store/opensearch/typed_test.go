package opensearch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/bm25/forms"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/storage"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/cluster"
)

// asking is hashed for questions, with the words of a language.
type asking struct{ hashed }

func (a asking) EncodeQuestion(ctx context.Context, text string) ([]float32, error) {
	vectors, err := a.EncodePassages(ctx, []corpus.Passage{{Text: text}})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}
func (asking) QuestionTokens(text string) (int, bool) { return len(strings.Fields(text)), false }
func (asking) KnownWords(text string) (words, whole, unknown int) {
	n := len(strings.Fields(text))
	return n, n, 0
}
func (asking) Readable(string) float64 { return 1 }
func (asking) WholeWords() []string {
	return strings.Fields(
		"the of and to in is you that it he was for on are with as his they at be this from have or by one had not but what all were when we there can an your which their said if do will each about how up out them then she many some so these would other into has more two like see time could no make than first been its who now people my made over did down only way find use may long little very after words called just where most know friend school open closed hours lake market windmill",
	)
}

// engineOver returns an engine of one dense expert, words and phrases.
func engineOver(t *testing.T, of storage.Corpus) *search.Engine {
	t.Helper()
	engine, err := search.NewEngine(search.EngineConfig{
		Corpus: of,
		Limits: search.Limits{
			K:             1000,
			Candidates:    1000,
			QuestionBytes: 1000,
			Timeout:       20 * time.Second,
			Batch:         1,
			BatchParallel: 1,
			EmbedInputs:   1,
			EmbedBytes:    1,
			AnswerBytes:   32 << 20,
		},
		LineUp: search.LineUp{
			Experts: []learned.Expert{
				{Name: "base", Encoder: asking{hashed{name: "base"}}, Info: learned.ExpertInfo{Dimension: hashedDimension}},
			},
			Defaults: search.Defaults{
				K:          10,
				Candidates: 100,
				Timeout:    20 * time.Second,
				Fusion:     "sum",
				Missing:    fusion.Exact,
				Alpha:      .03,
				Correct:    true,
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// shownOf returns the parts of an answer that have to be the same wherever the passages are.
func shownOf(t *testing.T, e *search.Engine, r search.Request) (corrected string, results []string) {
	t.Helper()
	answer, err := e.Search(t.Context(), search.Caller{}, r)
	if err != nil || len(answer.Degraded) > 0 {
		t.Fatalf("%+v: %v, %+v", r, err, answer.Degraded)
	}
	for _, x := range answer.Results {
		results = append(results, fmt.Sprintf("%s %.3f %v", x.ID, x.Score, x.Copies))
	}
	return fmt.Sprint(answer.Corrected), results
}

var shop = []string{
	"We open at nine on weekdays and close at six.", "The windmill by the lake grinds flour for the market.", "Refunds are paid within fourteen days of a purchase.",
	"The replacement battery BC6613 fits the lantern of model 03893.", "Our vehicles are inspected every spring.", "A receipt is needed to exchange a purchase.",
	"Deliveries to the islands take a week longer.", "The museum shows maps of Zanzibar and of Samarkand.", "Bicycles may be left behind the windmill.",
	"Kowalczyk founded the bakery, and José Núñez the café.", "The machines run at night.", "Gift vouchers expire after three years; the wi-fi is free.",
	"Paid refunds are rare.", "To be or not to be paid: that is the lake's question.", "The lakes and the lake by the windmill.", "Node.js and C++ are taught at night.",
}

// inBoth returns engines of the same passages in three nodes and in a folder.
func inBoth(t *testing.T, name string, given []corpus.Passage) (far *Corpus, engines [2]*search.Engine) {
	t.Helper()
	options := store.BuildOptions{
		Words:   bm25.DefaultParams(),
		Index:   store.Index{Kind: "flat"},
		Experts: []store.PassageEncoder{hashed{name: "base"}},
		Threads: 1,
	}
	options.Words.Phrases = true
	options.Words.Analysis = forms.Unicode
	a, b := built(t, name, given, 3, options)
	far = a.(*Corpus)
	if err := far.ReadWords(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The folder's order of equal scores is the store's: both by id.
	return far, [2]*search.Engine{engineOver(t, a), engineOver(t, b)}
}

func shopPassages() (out []corpus.Passage) {
	for i, text := range shop {
		out = append(out, corpus.Passage{ID: fmt.Sprintf("p%03d", i), Text: text})
	}
	return out
}

// TestCorrectedAsEmbedded: mistyped questions are corrected to the same words, with the same
// answers, as in a folder, also where a word is in the store in another form; and by the words
// of passages that came later, once they were read.
func TestCorrectedAsEmbedded(t *testing.T) {
	t.Parallel()
	far, engines := inBoth(t, "typed-words", shopPassages())
	for _, c := range []struct{ question, want string }{
		{"wehn do yuo opn", "[{wehn when} {yuo you} {opn open}]"},
		{"where is the widnmill?", "[{widnmill windmill}]"},
		{"WHERE IS THE WIDNMILL", "[{WIDNMILL WINDMILL}]"},
		{"how are refunts piad", "[{refunts refunds} {piad paid}]"},
		{"is a reciept needed for a puchrase", "[{reciept receipt} {puchrase purchase}]"},
		{"repalcemnt batery BC6613", "[{repalcemnt replacement} {batery battery}]"},
		{"gift-vuochers", "[{vuochers vouchers}]"},
		{"who is jose nunez", "[]"},
		{"is the wifi free", "[]"},
		{"the machine", "[]"},
		{`the "widnmill" by the lake`, "[]"},
		{"xyzzy plugh quux", "[]"},
		{"ask Kowalski", "[]"},
		{"BC6631 for 03983", "[]"},
	} {
		r := search.Request{Question: c.question}
		got, results := shownOf(t, engines[0], r)
		_, want := shownOf(t, engines[1], r)
		if embedded, _ := shownOf(t, engines[1], r); got != c.want || embedded != c.want || !slices.Equal(results, want) {
			t.Errorf("%q: corrected %s, in a folder %s, want %s\n%q, want\n%q", c.question, got, embedded, c.want, results, want)
		}
		r.Correct = new(false)
		if got, _ := shownOf(t, engines[0], r); got != "[]" {
			t.Errorf("%q: corrected all the same: %s", c.question, got)
		}
	}

	target := far.Store()
	writer, err := NewWriter(target, []store.PassageEncoder{hashed{name: "base"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := corpus.Passage{ID: "new", Text: "The widnmil is a band, and so are the Flibbertigibbets."}
	if _, err := writer.Apply(t.Context(), []store.Change{{Put: &p}}); err != nil {
		t.Fatal(err)
	}
	if err := writer.Visible(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := far.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A word that is there and was not read yet is known to be there.
	if got, _ := shownOf(t, engines[0], search.Request{Question: "widnmil"}); got != "[]" {
		t.Errorf("corrected %s, which a passage has", got)
	}
	far.renew = 0
	if far.lexicon.Load().took > time.Minute/renewShare {
		t.Skip("reading the words took too long")
	}
	far.lexicon.Load().took = 0
	if err := far.ReadWords(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, _ := shownOf(t, engines[0], search.Request{Question: "flibertigibbets"}); got != "[{flibertigibbets flibbertigibbets}]" {
		t.Errorf("corrected %s by the words of a new passage", got)
	}
	// Nobody asks the cluster about words that are known to be unknown.
	asked := 0
	target.Observe(func(cluster.Exchange) { asked++ })
	v := far.Acquire().(*view).Vocabulary()
	if looked, err := v.Look(t.Context(), []string{"refunts", "windmill", "xyzzy"}); err != nil || asked != 0 ||
		looked[0].Known ||
		!looked[1].Known ||
		looked[2].Known ||
		len(looked[0].Near) != 1 {
		t.Errorf("%+v, %v, %d requests", looked, err, asked)
	}
}

// TestCopiesAsEmbedded: passages that are there three times count once in a store as in a
// folder, with the same distinct ten, scores and names of copies; and the store counts them.
func TestCopiesAsEmbedded(t *testing.T) {
	t.Parallel()
	const seed, texts = 5, 120
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	vocabulary := strings.Fields("windmill river stone lantern orchard winter market bridge candle harbour garden island")
	var given []corpus.Passage
	for i := range texts {
		some := make([]string, 4+random.IntN(6))
		for n := range some {
			some[n] = vocabulary[random.IntN(len(vocabulary))]
		}
		some = append(some, fmt.Sprint("n", i))
		for n := range 3 {
			p := corpus.Passage{ID: fmt.Sprintf("p%03d-%d", i, n), Text: strings.Join(some, " ")}
			if n == 1 {
				p.Text = "  " + strings.Join(some, "\n\t")
			}
			given = append(given, p)
		}
	}
	far, engines := inBoth(t, "typed-copies", given)
	if n, err := far.Store().Copies(t.Context()); err != nil || n != 2*texts {
		t.Errorf("%d copies, %v, want %d", n, err, 2*texts)
	}
	for range 12 {
		question := vocabulary[random.IntN(12)] + " " + vocabulary[random.IntN(12)] + " " + vocabulary[random.IntN(12)]
		for _, method := range []string{"sum", "rrf"} {
			r := search.Request{Question: question, Fusion: search.Methods{Names: []string{method}}, Candidates: 20}
			_, got := shownOf(t, engines[0], r)
			_, want := shownOf(t, engines[1], r)
			if len(got) != 10 || !slices.Equal(got, want) {
				t.Errorf("%q by %s:\n%q, want\n%q", question, method, got, want)
			}
			distinct := map[string]bool{}
			for _, x := range got {
				distinct[x[:4]] = true
				if strings.Count(x, x[:4]) != 3 {
					t.Errorf("%q by %s: %s names other copies", question, method, x)
				}
			}
			if len(distinct) != 10 {
				t.Errorf("%q by %s: %d distinct texts of 10", question, method, len(distinct))
			}
		}
	}
	_, each := shownOf(t, engines[0], search.Request{Question: "windmill", Collapse: new(false)})
	_, want := shownOf(t, engines[1], search.Request{Question: "windmill", Collapse: new(false)})
	if !slices.Equal(each, want) || strings.Contains(fmt.Sprint(each), " [p") {
		t.Errorf("each for itself: %q, want %q", each, want)
	}
}

// TestMustAsEmbedded: what words and phrases let through is the same as in a folder.
func TestMustAsEmbedded(t *testing.T) {
	t.Parallel()
	_, engines := inBoth(t, "typed-must", shopPassages())
	ids := func(results []string) (out []string) {
		for _, x := range results {
			out = append(out, strings.Fields(x)[0])
		}
		slices.Sort(out)
		return out
	}
	for _, c := range []struct {
		must, not []string
		want      string
	}{
		{must: []string{"windmill"}, want: "p001 p008 p014"},
		{must: []string{"lakes"}, want: "p001 p013 p014"},
		{must: []string{"the lake"}, want: "p001 p014"},
		{must: []string{"refunds are paid"}, want: "p002"},
		{must: []string{"paid refunds"}, want: "p012"},
		{must: []string{"by the windmill"}, want: "p014"},
		{must: []string{"windmill", "lake"}, not: []string{"flour"}, want: "p014"},
		{must: []string{"to be or not to be"}, want: "p013"},
		{must: []string{"BC6613"}, want: "p003"},
		{must: []string{"C++"}, want: "p015"},
		{must: []string{"wifi"}, want: "p011"},
		{must: []string{"nunez"}, want: "p009"},
		{must: []string{"the"}, not: []string{"lake", "windmill"}, want: "p003 p006 p007 p009 p010 p011"},
		{must: []string{"elephant"}},
		{not: []string{"the", "paid", "at"}, want: "p004 p005"},
		{not: []string{"the windmill"}, must: []string{"lake"}, want: "p013"},
	} {
		r := search.Request{Question: "the lake", K: 100, Must: c.must, MustNot: c.not}
		_, got := shownOf(t, engines[0], r)
		_, want := shownOf(t, engines[1], r)
		if !slices.Equal(got, want) || strings.Join(ids(got), " ") != c.want {
			t.Errorf("must %q, not %q: %q, in a folder %q, want %s", c.must, c.not, got, want, c.want)
		}
	}
}

// TestPrefixAsEmbedded: the last word of a question that is still typed is completed by the words of the passages, in
// the same way in a cluster and in a folder; a word that passages have stays, and others that begin so are searched for
// too.
func TestPrefixAsEmbedded(t *testing.T) {
	_, engines := inBoth(t, "prefix", shopPassages())
	for _, c := range []struct {
		question, corrected string
		has                 []string // ids that are among the results
	}{
		{"who grinds flour at the windm", "[{windm windmill}]", []string{"p001", "p008", "p014"}},
		{"are ref", "[{ref refunds}]", []string{"p002", "p012"}},
		{"Zanz", "[{Zanz zanzibar}]", []string{"p007"}},
		{"the lake", "[]", []string{"p001", "p013", "p014"}}, // and lakes
		{"the lake ", "[]", nil},
		{"what are qqq", "[]", nil},
		{"l", "[]", nil},
	} {
		for i, e := range engines {
			r := search.Request{Question: c.question, Prefix: true, Experts: &[]string{}, K: 20}
			corrected, results := shownOf(t, e, r)
			if corrected != c.corrected {
				t.Errorf("engine %d, %q: corrected %s, want %s", i, c.question, corrected, c.corrected)
			}
			for _, id := range c.has {
				if !slices.ContainsFunc(results, func(one string) bool { return strings.HasPrefix(one, id) }) {
					t.Errorf("engine %d, %q: %v has no %s", i, c.question, results, id)
				}
			}
		}
		near, far := [2]string{}, [2][]string{}
		for i, e := range engines {
			near[i], far[i] = shownOf(t, e, search.Request{Question: c.question, Prefix: true, K: 20})
		}
		if near[0] != near[1] || !slices.Equal(far[0], far[1]) {
			t.Errorf("%q: %v, and in a folder %v", c.question, far[0], far[1])
		}
	}
}
