package bm25

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/bm25/forms"
)

// nearOracle scores a passage by hand: it writes down the terms and forms at each place of the whole normalised texts,
// and adds up every window of the text with the title.
func nearOracle(analysis forms.Analysis, question string, terms []NearTerm, title, text string, window int) float32 {
	a := forms.NewAnalyser(analysis)
	read := func(text string) (places []map[string]bool) { // of each term, what stands there
		before := map[string]bool{} // compounds before the first term
		mark := func(entry string) {
			if len(places) == 0 {
				before[entry] = true
			} else {
				places[len(places)-1][entry] = true
			}
		}
		last := ""
		words := a.WordsOf(a.Normalised(text))
		for {
			word, signed, compound := words.Next()
			for _, c := range []string{signed, compound} {
				if c != "" && a.Forms {
					for _, form := range a.CompoundForms(c) {
						mark(forms.FormMark + form.Form)
					}
				}
			}
			if word == "" {
				break
			}
			term := string(a.Term(word))
			if term == "" {
				continue
			}
			places = append(places, map[string]bool{term: true, last + " " + term: true})
			last = term
			if a.Forms {
				_, others := a.PassageForms(word, term)
				for _, form := range others {
					mark(forms.FormMark + form)
				}
			}
		}
		if len(places) == 0 {
			return []map[string]bool{before}
		}
		maps.Copy(places[0], before)
		return places
	}
	over, places := read(title), read(text)
	terms = slices.SortedFunc(slices.Values(terms), func(x, y NearTerm) int {
		return cmp.Or(cmp.Compare(y.IDF, x.IDF), strings.Compare(x.Term, y.Term))
	})
	stands := make([][]bool, len(terms)) // of each term, whether it stands at each place or in the title
	for i, t := range terms {
		wanted := []string{t.Term}
		for _, v := range analysis.Variants(question) {
			if slices.Contains(v.Of, t.Term) {
				wanted = append(wanted, v.Entries...)
			}
		}
		stand := func(here map[string]bool) bool {
			return slices.ContainsFunc(wanted, func(w string) bool { return here[w] })
		}
		for _, here := range places {
			stands[i] = append(stands[i], stand(here) || slices.ContainsFunc(over, stand))
		}
	}
	best := 0.0
	for from := range places {
		sum := 0.0
		for i, t := range terms {
			if slices.Contains(stands[i][from:min(from+window, len(places))], true) {
				sum += float64(t.IDF)
			}
		}
		best = max(best, sum)
	}
	return float32(best)
}

// nearWords are words of every kind that the analysis treats specially, and some that differ by a letter from others.
var nearWords = []string{
	"red", "reds", "Redder", "the", "of", "wi-fi", "wifi", "Wi", "fi", "José", "jose", "BC6613", "BC", "6613", "BC.6613",
	"C++", "c", ".NET", "net", "node.js", "nodejs", "don't", "O'Neill", "oneill", "x²", "½", "day", "days", "daies", "ays",
	"ies", "sses", "eed", "skies", "sky", "flying", "flies", "a/b/cd", "3.14", "snake_case", "(word)", "\"quoted\",", "end.",
	"...", "—", "naïve", "naive", "ﬁsh", "fish", "Windows", "11", "中文", "e\u0301tude", "étude", "\u00a0", "dogs'", "dog's",
	"dog’s", "dog", strings.Repeat("long", 80), "don't.", "it's", "U.S.A.", "and/or", "#5", "a", "i",
}

// randomNearText returns a text of n of the words, with white space between.
func randomNearText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(nearWords[r.IntN(len(nearWords))])
		b.WriteString([]string{" ", " ", " ", "\n", "  ", "\t", ", ", "-"}[r.IntN(8)])
	}
	return b.String()
}

// TestNearness: the score is what counting every window of every word by hand gives, whatever passages were scored
// before, and the explained terms add up to it. An oracle with another window differs.
func TestNearness(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	differs := 0
	for round := range 1000 {
		analysis := []forms.Analysis{forms.Unicode, forms.Unicode, forms.Lucene}[round%3]
		question := randomNearText(r, 1+r.IntN(8))
		var terms []NearTerm
		for i, term := range slices.Compact(slices.Sorted(slices.Values(analysis.Terms(question)))) {
			terms = append(terms, NearTerm{Term: term, DF: 1 + i, IDF: float32(r.IntN(5)) + r.Float32()})
		}
		n := NewNearness(analysis, question, terms)
		for range 3 {
			title, text := randomNearText(r, r.IntN(4)), randomNearText(r, r.IntN(60))
			score := n.Score([]byte(title), []byte(text))
			if want := nearOracle(analysis, question, terms, title, text, NearWindow); score != want {
				t.Fatalf("%s: %q in %q, %q: %v, by hand %v", analysis, question, title, text, score, want)
			}
			if score != nearOracle(analysis, question, terms, title, text, NearWindow-1) {
				differs++
			}
			sum := 0.0
			for _, term := range n.Terms([]byte(title), []byte(text)) {
				sum += float64(term.IDF)
			}
			if float32(sum) != score {
				t.Fatalf("%q in %q, %q: the terms add up to %v, not %v", question, title, text, sum, score)
			}
		}
	}
	if differs < 100 {
		t.Errorf("a window of another length gave another score only %d times", differs)
	}
}

// TestNearnessOfManyTerms: of more than 64 terms the rarest count.
func TestNearnessOfManyTerms(t *testing.T) {
	var terms []NearTerm
	question := ""
	for i := range 100 {
		word := fmt.Sprintf("w%dx", i)
		question += word + " "
		terms = append(terms, NearTerm{Term: word, DF: 1, IDF: float32(i)})
	}
	n := NewNearness(forms.Unicode, question, terms)
	for text, want := range map[string]float32{"w99x w98x": 197, "w36x": 36, "w35x": 0, "w5x w99x": 99} {
		if got := n.Score(nil, []byte(text)); got != want {
			t.Errorf("%q scores %v, not %v", text, got, want)
		}
	}
}

// TestNearnessFindsEveryStem: a word is found by its own stem, whatever the stemmer does to its end.
func TestNearnessFindsEveryStem(t *testing.T) {
	begins := []string{""}
	for from := 0; len(begins[len(begins)-1]) < 3; from++ {
		for _, letter := range "abeiltsyz0" {
			begins = append(begins, begins[from]+string(letter))
		}
	}
	for _, begin := range begins {
		for _, end := range strings.Fields(`_ s es ies sses ed ing eed y ational tional enci anci izer abli alli entli eli ousli
			ization ation ator alism iveness fulness ousness aliti iviti biliti icate ative alize iciti ical ful ness al ance ence er
			ic able ible ant ement ment ent sion tion ou ism ate iti ous ive ize e ll ating izing bling`) {
			word := begin + strings.Trim(end, "_")
			for _, term := range forms.Unicode.Terms(word) {
				n := NewNearness(forms.Unicode, word, []NearTerm{{Term: term, DF: 1, IDF: 1}})
				if got := n.Score(nil, []byte("before "+word+" after")); got != 1 {
					t.Fatalf("%q, whose stem is %q, scores %v", word, term, got)
				}
			}
		}
	}
}

func FuzzNearness(f *testing.F) {
	f.Add("red wi-fi of José", "The red", "wifi (of) jose, C++ BC 6613.")
	f.Add("ays", "ay", "ays\xffays a\u0301ys")
	f.Fuzz(func(t *testing.T, question, title, text string) {
		for _, analysis := range []forms.Analysis{forms.Unicode, forms.Lucene} {
			var terms []NearTerm
			for i, term := range slices.Compact(slices.Sorted(slices.Values(analysis.Terms(question)))) {
				terms = append(terms, NearTerm{Term: term, DF: 1, IDF: float32(i%7) + 1})
			}
			if len(terms) > mostNearTerms {
				return
			}
			got := NewNearness(analysis, question, terms).Score([]byte(title), []byte(text))
			if want := nearOracle(analysis, question, terms, title, text, NearWindow); got != want {
				t.Errorf("%s: %q in %q, %q: %v, by hand %v", analysis, question, title, text, got, want)
			}
		}
	})
}

// TestPlainStopWords: the words that Nearness passes over without analysing them are the stop words of the analysis.
func TestPlainStopWords(t *testing.T) {
	a := forms.NewAnalyser(forms.Unicode)
	if n := len(forms.StopWords()); n != 33 {
		t.Errorf("%d stop words", n)
	}
	for _, word := range append(forms.StopWords(), "ax", "thee", "a1", "x", "wit", "withs", "theirs", "0", "t", "1") {
		stop := a.Term(word) == nil
		if isPlainStopWord([]byte(word)) != stop || isPlainStopWord([]byte(strings.ToUpper(word))) != stop {
			t.Errorf("%q: a stop word: %v", word, stop)
		}
	}
}

// BenchmarkNearness scores 350 passages of about 900 bytes. One in forty of their words has a mark inside, and one in
// 200 an accent.
func BenchmarkNearness(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	letters := "etaoinshrdlucmfwypvbgkjqxz"
	vocabulary := make([]string, 4000)
	for i := range vocabulary {
		for range 2 + r.IntN(8) {
			vocabulary[i] += string(letters[min(r.IntN(26), r.IntN(26))])
		}
		switch {
		case i%200 == 0:
			vocabulary[i] += "é"
		case i%40 == 0:
			vocabulary[i] += "-" + vocabulary[i-1]
		}
	}
	vocabulary = append(vocabulary, forms.StopWords()...)
	word := func() string {
		if r.IntN(3) == 0 {
			return forms.StopWords()[r.IntN(33)]
		}
		return vocabulary[min(r.IntN(len(vocabulary)), r.IntN(len(vocabulary)))]
	}
	passages := make([][]byte, 350)
	bytes := 0
	for i := range passages {
		for len(passages[i]) < 900 {
			passages[i] = append(append(passages[i], word()...), " "...)
		}
		bytes += len(passages[i])
	}
	question := ""
	var terms []NearTerm
	for i := range 8 {
		w := vocabulary[r.IntN(1000)]
		question += w + " "
		for _, term := range forms.Unicode.Terms(w) {
			terms = append(terms, NearTerm{Term: term, IDF: float32(i + 1)})
		}
	}
	b.SetBytes(int64(bytes))
	for b.Loop() {
		n := NewNearness(forms.Unicode, question, terms)
		for _, p := range passages {
			n.Score(nil, p)
		}
	}
}
