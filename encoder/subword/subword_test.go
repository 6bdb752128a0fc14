package subword_test

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/encoder/subword"
	"example.org/conclave/encoder/wordpiece"
)

func unzipped(tb testing.TB, path ...string) []byte {
	tb.Helper()
	f, err := os.Open(filepath.Join(append([]string{"..", "testdata"}, path...)...))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// file returns the tokenizer.json of a checkpoint of testdata/families, with its map of
// characters.
func file(tb testing.TB, family string) []byte {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", "families", family, "tokenizer.json"))
	if err != nil {
		tb.Fatal(err)
	}
	_, after, _ := strings.Cut(string(unzipped(tb, "fid", "tokenizer.first.json.gz")), `"precompiled_charsmap":"`)
	charsmap, _, _ := strings.Cut(after, `"`)
	return []byte(strings.Replace(string(text), "CHARSMAP", charsmap, 1))
}

func parsed(tb testing.TB, family string) *subword.Tokenizer {
	tb.Helper()
	t, err := subword.Parse(file(tb, family))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// split returns texts and what Hugging Face's tokenizers make of texts (testdata/families/make.py).
func split(tb testing.TB) (texts []string, ids map[string][][]int32) {
	tb.Helper()
	var golden struct {
		Texts []string             `json:"texts"`
		IDs   map[string][][]int32 `json:"ids"`
	}
	if err := json.Unmarshal(unzipped(tb, "families", "split.json.gz"), &golden); err != nil {
		tb.Fatal(err)
	}
	if len(golden.Texts) < 400 || len(golden.IDs) != 5 {
		tb.Fatalf("%d texts and %d families", len(golden.Texts), len(golden.IDs))
	}
	return golden.Texts, golden.IDs
}

// TestReference compares ids with those of Hugging Face's tokenizers: of texts of every kind of
// characters beside each other.
func TestReference(t *testing.T) {
	texts, ids := split(t)
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, file(t, "mpnet"), 0o600); err != nil {
		t.Fatal(err)
	}
	mpnet, err := wordpiece.Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	for family, tokenizer := range map[string]interface {
		Encode(text string, maxTokens int) ([]int32, error)
	}{"roberta": parsed(t, "roberta"), "xlm-roberta": parsed(t, "xlm-roberta"), "mpnet": mpnet} {
		wrong := 0
		for i, text := range texts {
			got, err := tokenizer.Encode(text, 1<<20)
			if err != nil {
				t.Fatalf("%s: %q: %v", family, text, err)
			}
			if want := ids[family][i]; !slices.Equal(got, want) && !(family == "mpnet" && longWord(text)) {
				if wrong++; wrong <= 5 {
					t.Errorf("%s: %q (%+q) gives %v, the reference %v", family, text, text, got, want)
				}
			}
		}
		t.Logf("%s: %d of %d texts are split otherwise", family, wrong, len(texts))
	}
}

// manyTexts names a file of texts and ids that make.py writes; "": there is none.
var manyTexts = flag.String("texts", "", "`file` of many texts and their ids, as testdata/families/make.py writes it")

// TestManyTexts compares thousands of texts, and larger vocabularies.
func TestManyTexts(t *testing.T) {
	if *manyTexts == "" {
		t.Skip("-args -texts FILE compares the texts of a file that testdata/families/make.py writes")
	}
	data, err := os.ReadFile(*manyTexts)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Texts    []string
		Families map[string]struct {
			File string
			IDs  [][]int32
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for name, want := range golden.Families {
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		if err := os.WriteFile(path, []byte(want.File), 0o600); err != nil {
			t.Fatal(err)
		}
		var tokenizer interface {
			Encode(text string, maxTokens int) ([]int32, error)
		}
		tokenizer, err = subword.Parse([]byte(want.File))
		if name == "mpnet" {
			tokenizer, err = wordpiece.Open(path, true)
		}
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i, text := range golden.Texts {
			got, err := tokenizer.Encode(text, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want.IDs[i]) && !(name == "mpnet" && longWord(text)) {
				if wrong++; wrong <= 5 {
					t.Errorf("%s: %q (%+q) gives %v, the reference %v", name, text, text, got, want.IDs[i])
				}
			}
		}
		t.Logf("%s: %d of %d texts are split otherwise", name, wrong, len(golden.Texts))
	}
}

// longWord reports whether a text has a word that is unknown to the reference for its length alone.
func longWord(text string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(word string) bool { return len(word) > 100 })
}

// TestLimits: a text that is cut has the ids of the whole text's beginning, and a pair those of
// both texts, the longer of which gives way.
func TestLimits(t *testing.T) {
	texts, _ := split(t)
	const seed = 5
	random := rand.New(rand.NewPCG(seed, 0))
	for _, family := range []string{"roberta", "xlm-roberta"} {
		tokenizer := parsed(t, family)
		whole := func(text string) []int32 {
			ids, err := tokenizer.Encode(text, 1<<20)
			if err != nil || ids[0] != tokenizer.CLS() || ids[len(ids)-1] != tokenizer.SEP() {
				t.Fatalf("%s: %q: %v, %v", family, text, ids, err)
			}
			return ids[1 : len(ids)-1]
		}
		for range 300 {
			first, second := texts[random.IntN(len(texts))], texts[random.IntN(len(texts))]
			limit := 4 + random.IntN(60)
			a, b := whole(first), whole(second)
			cut, err := tokenizer.Encode(first, limit)
			if want := a[:min(len(a), limit-2)]; err != nil || !slices.Equal(cut[1:len(cut)-1], want) {
				t.Fatalf("seed %d, %s: %q in %d: %v, not %v (%v)", seed, family, first, limit, cut, want, err)
			}
			pair, at, err := tokenizer.EncodePair(first, second, limit)
			if err != nil || len(pair) != min(limit, len(a)+len(b)+4) {
				t.Fatalf("seed %d, %s: %d tokens of a limit of %d (%v)", seed, family, len(pair), limit, err)
			}
			keptA, keptB := pair[1:at-2], pair[at:len(pair)-1]
			if !slices.Equal(keptA, a[:len(keptA)]) || !slices.Equal(keptB, b[:len(keptB)]) || pair[at-1] != tokenizer.SEP() {
				t.Fatalf("seed %d, %s: %v of %v and %v", seed, family, pair, a, b)
			}
			// What gives way is the longer: the other is whole, or both are equally long but for one.
			if len(keptA) < len(a) && len(keptA) < len(keptB)-1 || len(keptB) < len(b) && len(keptB) < len(keptA)-1 {
				t.Fatalf("seed %d, %s: %d of %d and %d of %d", seed, family, len(keptA), len(a), len(keptB), len(b))
			}
		}
		if _, err := tokenizer.Encode("a", 1); err == nil {
			t.Error("no room, and no error")
		}
		if err := tokenizer.SelfTest(); err != nil {
			t.Error(err)
		}
	}
}

// TestWords: what the vocabularies know of English, and of a script that they have no words of.
func TestWords(t *testing.T) {
	for _, family := range []string{"roberta", "xlm-roberta"} {
		tokenizer := parsed(t, family)
		english := tokenizer.Words("The river rose in the night, the mill!")
		chinese := tokenizer.Words("北京 是 中国")
		if english.All != 8 || english.Unknown != 0 || english.Readable() != 1 || english.Whole == 0 {
			t.Errorf("%s: %+v", family, english)
		}
		if chinese.All != 3 || chinese.Unknown != 3 || chinese.Readable() != 0 {
			t.Errorf("%s: %+v", family, chinese)
		}
		if !slices.Contains(tokenizer.WholeWords(), "the") {
			t.Errorf("%s: %v", family, tokenizer.WholeWords())
		}
		ids, err := tokenizer.Encode("the 北", 10)
		if err != nil || tokenizer.Strange(ids[1]) || !slices.ContainsFunc(ids[2:], tokenizer.Strange) {
			t.Errorf("%s: %v, %v", family, ids, err)
		}
	}
}

// TestRefused: whatever would split text otherwise.
func TestRefused(t *testing.T) {
	good := string(file(t, "roberta"))
	for what, change := range map[string][2]string{
		"lower case":     {`"normalizer": null`, `"normalizer": {"type": "Lowercase"}`},
		"another rule":   {`"use_regex": true`, `"use_regex": false`},
		"no frame":       {`"RobertaProcessing"`, `"ByteLevel"`},
		"ignored merges": {`"ignore_merges": false`, `"ignore_merges": true`},
		"another model":  {`"type": "BPE"`, `"type": "WordLevel"`},
		"a byte lacks":   {`"!":`, `"!!!!":`},
	} {
		changed := strings.Replace(good, change[0], change[1], 1)
		if changed == good {
			dense := strings.NewReplacer(": ", ":")
			changed = strings.Replace(good, dense.Replace(change[0]), dense.Replace(change[1]), 1)
		}
		if changed == good {
			t.Errorf("%s: nothing to change", what)
		} else if _, err := subword.Parse([]byte(changed)); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}
