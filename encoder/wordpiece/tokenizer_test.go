package wordpiece

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/conclave/internal/normalise"
	"example.org/conclave/internal/testing/golden"
	"example.org/conclave/internal/testing/testenv"
)

func published(tb testing.TB, file string) *Tokenizer {
	tb.Helper()
	t, err := Open(filepath.Join(testenv.Checkpoint(tb), file), true)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// small returns a tokenizer with the vocabulary of the self-test, which needs no
// file.
func small(tb testing.TB, lowerCase bool) *Tokenizer {
	tb.Helper()
	test, err := readSelfTest()
	if err != nil {
		tb.Fatal(err)
	}
	t, err := newFromVocabulary(parseLines, []byte(strings.Join(test.Vocabulary, "\n")), lowerCase)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestGoldenTexts(t *testing.T) {
	type line struct {
		Text string  `json:"text"`
		IDs  []int32 `json:"ids"`
	}
	lines := golden.Lines[line](t, "golden/wordpiece.jsonl.gz")
	for _, file := range []string{"vocab.txt", "tokenizer.json"} {
		tokenizer := published(t, file)
		// Twice, so that the second time words come from the cache.
		for range 2 {
			for _, l := range lines {
				if slices.ContainsFunc(strings.Fields(l.Text), func(word string) bool { return len(word) > longestWord }) {
					continue // [UNK] to the reference as it is; the self-test has such words
				}
				got, err := tokenizer.Encode(l.Text, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, l.IDs) {
					t.Errorf("%s: %+q\n got %v\nwant %v", file, l.Text, got, l.IDs)
				}
			}
		}
	}
}

// TestSelfTestBehind: the self-test is of the tokenizer, whatever it reads texts behind.
func TestSelfTestBehind(t *testing.T) {
	for _, tokenizer := range []*Tokenizer{small(t, true), published(t, "vocab.txt")} {
		if err := tokenizer.Behind(normalise.Text).SelfTest(); err != nil {
			t.Error(err)
		}
	}
}

func TestGoldenPairs(t *testing.T) {
	type line struct {
		Title     string  `json:"title"`
		Text      string  `json:"text"`
		MaxTokens int     `json:"max_tokens"`
		IDs       []int32 `json:"ids"`
		TypeIDs   []int   `json:"type_ids"`
	}
	tokenizer := published(t, "tokenizer.json")
	for _, l := range golden.Lines[line](t, "golden/wordpiece_pairs.jsonl.gz") {
		got, boundary, err := tokenizer.EncodePair(l.Title, l.Text, l.MaxTokens)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, l.IDs) {
			t.Errorf("%q, %q, %d tokens\n got %v\nwant %v", l.Title, l.Text, l.MaxTokens, got, l.IDs)
		}
		if want := slices.Index(l.TypeIDs, 1); boundary != want {
			t.Errorf("%q: the second text begins at %d, want %d", l.Title, boundary, want)
		}
	}
}

func TestSelfTest(t *testing.T) {
	for _, lowerCase := range []bool{true, false} {
		if err := small(t, lowerCase).SelfTest(); err != nil {
			t.Error(err)
		}
	}
	// Wrong tokenizers must be found out.
	test, err := readSelfTest()
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Tokenizer){
		"accents kept":        func(t *Tokenizer) { t.normal.stripAccents = false },
		"case kept":           func(t *Tokenizer) { t.normal.lowerCase = false },
		"ideographs together": func(t *Tokenizer) { t.normal.ideographs = false },
		"other unknown":       func(t *Tokenizer) { t.unk = t.cls },
	} {
		broken := small(t, true)
		spoil(broken)
		if broken.checkCases(test.LowerCase, test.Reference) == nil {
			t.Errorf("the self-test passes with %s", name)
		}
	}
	framed := small(t, true)
	framed.unk = framed.sep
	if framed.SelfTest() == nil {
		t.Error("the self-test passes with [SEP] between the words")
	}
}

func TestSelfTestWithPublishedVocabulary(t *testing.T) {
	tokenizer := published(t, "vocab.txt")
	test, err := readSelfTest()
	if err != nil {
		t.Fatal(err)
	}
	if tokenizer.fingerprint != test.Published.SHA256 {
		t.Errorf("the vocabulary's fingerprint is %s, the self-test knows %s", tokenizer.fingerprint, test.Published.SHA256)
	}
	if err := tokenizer.SelfTest(); err != nil {
		t.Error(err)
	}
}

func TestSpecialTokensInTextStayText(t *testing.T) {
	for _, tokenizer := range []*Tokenizer{small(t, true), small(t, false)} {
		for _, text := range []string{"[SEP]", "a[CLS]b", "[UNK]", "x [PAD] y", "[MASK]", "##s"} {
			ids, err := tokenizer.Encode(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids[1 : len(ids)-1] {
				if id <= 4 { // the vocabulary begins with the five special tokens
					t.Errorf("%q gives the special token %d in %v", text, id, ids)
				}
			}
		}
	}
}

// A limit keeps a prefix of the whole, however the text is divided for
// normalising.
func TestLimit(t *testing.T) {
	tokenizer := small(t, true)
	text := strings.Repeat("Café unanswerable x\u0301 北京 hello\u00a0world ", 600)
	whole, err := tokenizer.Encode(text, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	inOneGo, err := tokenizer.appendPieces(nil, strings.ReplaceAll(text, " ", "\u00a0"), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole[1:len(whole)-1], inOneGo) {
		t.Error("a text normalised in parts differs from one normalised whole")
	}
	for _, limit := range []int{2, 3, 7, 64, 1000, len(whole) - 1, len(whole), len(whole) + 1} {
		got, err := tokenizer.Encode(text, limit)
		if err != nil {
			t.Fatal(err)
		}
		want := whole
		if limit < len(whole) {
			want = append(slices.Clone(whole[:limit-1]), tokenizer.sep)
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %d: %d ids, want %d", limit, len(got), len(want))
		}
	}
	if _, err := tokenizer.Encode("a", 1); err == nil {
		t.Error("a limit of one token is accepted")
	}
	if _, _, err := tokenizer.EncodePair("a", "b", 2); err == nil {
		t.Error("a limit of two tokens for a pair is accepted")
	}
}

// The self-test compares short pairs with the reference; these are long enough
// to be cut before they are counted.
func TestPairsFarTooLong(t *testing.T) {
	tokenizer := small(t, true)
	for _, c := range []struct{ a, b, max, keepA, keepB int }{
		{500, 20, 10, 4, 3}, // an odd token goes to the longer
		{20, 500, 10, 3, 4},
		{20, 20, 10, 3, 4},
		{500, 20, 11, 4, 4},
		{2, 500, 11, 2, 6},
		{500, 0, 11, 8, 0},
	} {
		ids, boundary, err := tokenizer.EncodePair(strings.Repeat("a ", c.a), strings.Repeat("b ", c.b), c.max)
		if err != nil {
			t.Fatal(err)
		}
		if keepA, keepB := boundary-2, len(ids)-boundary-1; keepA != c.keepA || keepB != c.keepB {
			t.Errorf("%d and %d tokens in %d: %d and %d stay, want %d and %d", c.a, c.b, c.max, keepA, keepB, c.keepA, c.keepB)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	tokenizer := small(t, true)
	tokenizer.split = newSplitCache(16) // so small that generations change all the time
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 500 {
				word := fmt.Sprintf("w%dx%d", worker%2, i)
				got, err := tokenizer.Encode(word, 64)
				want, wantErr := tokenizer.splitWord(word)
				if err != nil || wantErr != nil || !slices.Equal(got[1:len(got)-1], want) {
					t.Errorf("%s: %v (%v), want %v (%v)", word, got, err, want, wantErr)
				}
			}
		})
	}
	group.Wait()
	if n := len(tokenizer.split.young) + len(tokenizer.split.old); n > 32 {
		t.Errorf("the cache of two generations of 16 holds %d words", n)
	}
}

func TestOpenErrors(t *testing.T) {
	good := `{"added_tokens":[],"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"lowercase":true},` +
		`"pre_tokenizer":{"type":"BertPreTokenizer"},` +
		`"model":{"type":"WordPiece","vocab":{"[UNK]":0,"[CLS]":1,"[SEP]":2,"a":3}}}`
	for name, c := range map[string]struct {
		file, old, new, want string
	}{
		"good":                {"t.json", "", "", ""},
		"lower case differs":  {"t.json", `"lowercase":true`, `"lowercase":false`, "lower_case: true"},
		"other model":         {"t.json", `"WordPiece"`, `"BPE"`, `"BPE"`},
		"no unknown":          {"t.json", `"[UNK]":0`, `"x":0`, "no [UNK]"},
		"no separator":        {"t.json", `"[SEP]":2`, `"</s>":2`, "no [SEP]"},
		"other normalizer":    {"t.json", `"BertNormalizer"`, `"NFC"`, "BertNormalizer"},
		"dirty text":          {"t.json", `"clean_text":true`, `"clean_text":false`, "clean_text"},
		"other pre-tokenizer": {"t.json", `"BertPreTokenizer"`, `"Whitespace"`, "BertPreTokenizer"},
		"other prefix":        {"t.json", `"type":"WordPiece"`, `"type":"WordPiece","continuing_subword_prefix":"_"`, "continuing_subword_prefix"},
		"added word": {"t.json", `"added_tokens":[]`, `"added_tokens":[{"content":"covid","special":false}]`,
			"covid"},
		"negative id": {"t.json", `"a":3`, `"a":-3`, "-3"},
		"not JSON":    {"t.json", `{"added`, `{{"added`, "not a tokenizer.json"},
		"empty":       {"vocab.txt", good, "", "no [UNK]"},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, []byte(strings.Replace(good, c.old, c.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, true)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path)):
			t.Errorf("%s: %v, want an error that names %q and the file", name, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.txt"), true); err == nil {
		t.Error("a missing file is opened")
	}
}

func FuzzEncode(f *testing.F) {
	lower, cased := small(f, true), small(f, false)
	test, err := readSelfTest()
	if err != nil {
		f.Fatal(err)
	}
	for i, c := range test.Cased {
		f.Add([]byte(c.Text), []byte("title"), uint8(i))
	}
	f.Add([]byte("[SEP]\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80"), []byte("İẞ\x00"), uint8(5))
	f.Add(bytes.Repeat([]byte{0xCC, 0x81}, 100), []byte("\u1e9e"), uint8(9))
	f.Fuzz(func(t *testing.T, text, title []byte, limit uint8) {
		for _, tokenizer := range []*Tokenizer{lower, cased} {
			max := int(limit) + 3
			whole, err := tokenizer.Encode(string(text), 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			check(t, tokenizer, whole)
			cut, err := tokenizer.Encode(string(text), max)
			if err != nil || len(cut) != min(max, len(whole)) || !slices.Equal(cut[:len(cut)-1], whole[:len(cut)-1]) {
				t.Fatalf("%q cut to %d: %v (%v), whole %v", text, max, cut, err, whole)
			}
			pair, boundary, err := tokenizer.EncodePair(string(title), string(text), max)
			if err != nil || len(pair) > max || pair[boundary-1] != tokenizer.sep {
				t.Fatalf("pair %q, %q cut to %d: %v, %d (%v)", title, text, max, pair, boundary, err)
			}
			check(t, tokenizer, append(slices.Clone(pair[:boundary-1]), pair[boundary:]...))
		}
	})
}

// check looks for [CLS] … [SEP] with nothing special but [UNK] between.
func check(t *testing.T, tokenizer *Tokenizer, ids []int32) {
	t.Helper()
	last := len(ids) - 1
	if ids[0] != tokenizer.cls || ids[last] != tokenizer.sep {
		t.Fatalf("%v is not framed by [CLS] and [SEP]", ids)
	}
	for _, id := range ids[1:last] {
		if id != tokenizer.unk && id <= 4 || int(id) >= len(tokenizer.model.GetVocab()) {
			t.Fatalf("%v has the id %d", ids, id)
		}
	}
}

func BenchmarkEncodeQuestion(b *testing.B) {
	tokenizer := published(b, "tokenizer.json")
	questions := golden.Lines[struct {
		Question string `json:"question"`
	}](b, "data/nq/questions.dev.jsonl.gz")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := tokenizer.Encode(questions[i%len(questions)].Question, 64); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodePassage(b *testing.B) {
	tokenizer := published(b, "tokenizer.json")
	passages := golden.Lines[struct {
		Title, Text string
	}](b, "data/wiki/passages.jsonl.gz")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p := passages[i%len(passages)]
		if _, err := tokenizer.Encode(p.Title+". "+p.Text, 256); err != nil {
			b.Fatal(err)
		}
	}
}
