package search

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"example.org/conclave/fusion"
	"example.org/conclave/internal/rank"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/storage"
)

// parted is a word index whose terms are letters and digits without what is between them,
// as those of part numbers are.
type parted struct{ words }

func newParted(pairs bool, texts ...string) *parted {
	return &parted{words{texts: texts, pairs: pairs}}
}

func (w *parted) of(text string) []string {
	terms := strings.FieldsFunc(
		strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) },
	)
	if !w.pairs {
		return terms
	}
	var out []string
	for i := 1; i < len(terms); i++ {
		out = append(out, terms[i-1]+" "+terms[i])
	}
	return out
}

func (w *parted) Rarities(_ context.Context, texts []string) ([][]storage.Rarity, error) {
	out := make([][]storage.Rarity, len(texts))
	for i, text := range texts {
		for _, term := range w.of(text) {
			df := 0
			for _, passage := range w.texts {
				if slices.Contains(w.of(passage), term) {
					df++
				}
			}
			idf := math.Log(1 + (float64(len(w.texts))-float64(df)+.5)/(float64(df)+.5))
			out[i] = append(out[i], storage.Rarity{
				Term: term, Count: 1, DocFrequency: df, IDF: idf, Relative: idf / math.Log(2*float64(len(w.texts))+2),
			})
		}
	}
	return out, nil
}

func (w *parted) Explain(_ context.Context, question string, o rank.Ordinal) (terms []storage.TermScore, err error) {
	own := w.of(w.texts[o])
	for _, term := range w.of(question) {
		if slices.Contains(own, term) {
			terms = append(terms, storage.TermScore{Term: term})
		}
	}
	return terms, nil
}

// TestPartsElsewhereAreNotTheNumber: a passage with the parts of a part number in other
// places does not have it, and the pairs of a name are its words.
func TestPartsElsewhereAreNotTheNumber(t *testing.T) {
	texts := []string{"valve BC.6613-18, 19 mm", "gear BC.6613-19, 18 mm", "Zoë Peña and Ana Novák", "Ana Peña, 44"}
	w, pairs := newParted(false, texts...), newParted(true, texts...)
	p := &sources.Findings{Panel: &sources.Panel{}, Inquiry: sources.Inquiry{Question: "is BC.6613-19 with Ana Peña?"}}
	keys, err := p.ReadKeys(t.Context(), w, pairs)
	if err != nil {
		t.Fatal(err)
	}
	for o, want := range map[rank.Ordinal][]string{0: {"bc 6613"}, 1: {"BC.6613-19", "bc 6613", "6613 19"}, 2: {"Ana", "Peña?"}, 3: {"Ana", "Peña?", "ana peña"}} {
		set, err := keys.SetOf(t.Context(), p.Inquiry.Question, w, pairs, o)
		var held []string
		for i, k := range keys.List {
			if set>>i&1 == 1 {
				held = append(held, k.Text)
			}
		}
		if err != nil || !slices.Equal(held, want) {
			t.Errorf("%q holds %q, %v; want %q", texts[o], held, err, want)
		}
	}
	for _, k := range keys.List {
		if k.Text == "ana peña" {
			for i, x := range keys.List {
				if k.Of>>i&1 == 1 != (x.Text == "Ana" || x.Text == "Peña?") {
					t.Errorf("the pair is of %q: %v", x.Text, k.Of>>i&1)
				}
			}
		}
		if (k.Code > 0) != (k.Text == "BC.6613-19") {
			t.Errorf("%q is a code: %v", k.Text, k.Code)
		}
	}
	// Where the question has more words than count, the rarest do.
	p.Inquiry.Question = strings.Repeat("x1 ", 3) + strings.Join(strings.Fields(strings.Repeat("ana ", 2)), " ")
	for i := range 100 {
		p.Inquiry.Question += " w" + strings.Repeat("q", i+1)
	}
	keys, err = p.ReadKeys(t.Context(), w, pairs)
	if err != nil || len(keys.List) > fusion.MaxKeys {
		t.Errorf("%d keys, %v", len(keys.List), err)
	}
}

// pieces is an encoder that reads a word in pieces of two letters.
type pieces struct{ learned.QuestionEncoder }

func (pieces) QuestionTokens(text string) (int, bool)             { return 2 + (len(text)+1)/2, false }
func (pieces) KnownWords(text string) (words, whole, unknown int) { return 1, 0, 0 }

// TestExactWords: the share of the question that is of long words in few passages: none of
// a word that many have, or none, or that the encoder reads in few pieces.
func TestExactWords(t *testing.T) {
	const hash = "31bca02094eb78126a517b206a88c73cfa9e"
	texts := []string{"sum " + hash, "sum of other", "sum of another commonplacewordthatmanyhave"}
	for range 20 {
		texts = append(texts, "commonplacewordthatmanyhave")
	}
	w := newParted(false, texts...)
	panel := sources.NewPanel(sources.PanelOptions{Experts: []learned.Expert{{Name: "general", Encoder: pieces{}}}})
	p := &sources.Findings{Panel: panel}
	idf := func(df float64) float64 { return math.Log(1 + (23-df+.5)/(df+.5)) }
	for question, want := range map[string]float64{
		"sum": 0, "other": 0, "nowhere0123456789012345678901234567890": 0, "commonplacewordthatmanyhave": 0, hash: 1,
		"sum " + hash + "?": idf(1) / (idf(1) + idf(3)), "unheard " + hash: 1,
	} {
		p.Inquiry.Question = question
		keys, err := p.ReadKeys(t.Context(), w, nil)
		if err != nil || math.Abs(keys.Exact-want) > 1e-9 {
			t.Errorf("%q: %v, %v; want %v", question, keys.Exact, err, want)
		}
	}
}

// TestTellsByHand: of 1,023.5 passages, a term that none has carries log2(2048) = 11 bits,
// which is what a word's digits (log2 10 each) and letters (log2 26) are compared with.
func TestTellsByHand(t *testing.T) {
	rare := storage.Rarity{IDF: 11 * math.Ln2, Relative: 1}
	half := storage.Rarity{IDF: 5.5 * math.Ln2, Relative: .5} // the same collection, another term
	for word, want := range map[string]float64{
		"1": 0, "5.": 0, "42": 2*2*math.Log2(10)/11 - 1, "2023": 1, "a1": 2*(math.Log2(26)+math.Log2(10))/11 - 1, "BC.6613-18": 1, "lake": 0, "...": 0,
	} {
		for _, term := range []storage.Rarity{rare, half} {
			if got := sources.IdentifyingPower(word, term); math.Abs(got-want) > 1e-9 {
				t.Errorf("%q: %v, want %v", word, got, want)
			}
		}
	}
	if got := sources.IdentifyingPower("123456", storage.Rarity{}); got != 0 {
		t.Errorf("%v of a term that all passages have", got)
	}
}
