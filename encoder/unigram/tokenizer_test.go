package unigram

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// unzipped reads a file that testdata/fid/make.py wrote.
func unzipped(tb testing.TB, name string) []byte {
	tb.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "fid", name))
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

// form returns the file of one of the forms of T5's tokenizer; the map of characters is
// written in the first alone.
func form(tb testing.TB, name string) []byte {
	tb.Helper()
	text := string(unzipped(tb, "tokenizer."+name+".json.gz"))
	if strings.Contains(text, "CHARSMAP") {
		_, after, _ := strings.Cut(string(unzipped(tb, "tokenizer.first.json.gz")), `"precompiled_charsmap":"`)
		charsmap, _, _ := strings.Cut(after, `"`)
		text = strings.ReplaceAll(text, "CHARSMAP", charsmap)
	}
	return []byte(text)
}

func parsed(tb testing.TB, name string) *Tokenizer {
	tb.Helper()
	t, err := Parse(form(tb, name))
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return t
}

// TestReference compares ids and texts with those of Hugging Face's tokenizers.
func TestReference(t *testing.T) {
	var golden struct {
		Texts   []string             `json:"texts"`
		IDs     map[string][][]int32 `json:"ids"`
		Decoded []string             `json:"decoded"`
	}
	if err := json.Unmarshal(unzipped(t, "pieces.json.gz"), &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Texts) < 400 || len(golden.IDs) != 3 {
		t.Fatalf("%d texts and %d forms", len(golden.Texts), len(golden.IDs))
	}
	for name, all := range golden.IDs {
		tokenizer := parsed(t, name)
		wrong := 0
		for i, text := range golden.Texts {
			got, err := tokenizer.Encode(text, 1<<20)
			if err != nil {
				t.Fatalf("%s: %q: %v", name, text, err)
			}
			if !slices.Equal(got, all[i]) {
				if wrong++; wrong <= 5 {
					t.Errorf("%s: %q (%+q) gives %v, the reference %v", name, text, text, got, all[i])
				}
			}
			if name == "first" {
				if back := tokenizer.Decode(got); back != golden.Decoded[i] {
					t.Errorf("%v decoded is %q, by the reference %q", got, back, golden.Decoded[i])
				}
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d texts differ", name, wrong, len(golden.Texts))
		}
	}
}

// TestLimit: the end is cut, and the last id ends the text.
func TestLimit(t *testing.T) {
	tokenizer := parsed(t, "first")
	const text = "the river rose in the night and by morning the mill stood in water"
	whole, err := tokenizer.Encode(text, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for limit := 1; limit <= len(whole)+1; limit++ {
		got, err := tokenizer.Encode(text, limit)
		if err != nil {
			t.Fatal(err)
		}
		want := append(slices.Clone(whole[:min(limit, len(whole))-1]), tokenizer.End())
		if !slices.Equal(got, want) {
			t.Errorf("at most %d: %v, not %v", limit, got, want)
		}
	}
	if _, err := tokenizer.Encode(text, 0); err == nil {
		t.Error("no error for a limit of 0")
	}
}

// TestTextStaysText: what looks like a special token is none.
func TestTextStaysText(t *testing.T) {
	tokenizer := parsed(t, "first")
	for _, text := range []string{"</s>", "a</s>b", "<pad> <unk>", "<extra_id_0>", "\xff\xfe</s>\x00"} {
		ids, err := tokenizer.Encode(text, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids[:len(ids)-1] {
			if tokenizer.hidden[id] && id != tokenizer.unknown {
				t.Errorf("%q gives %v, with the special piece %q", text, ids, tokenizer.pieces[id])
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	good := string(form(t, "first"))
	for _, c := range []struct{ from, to, want string }{
		{`"type":"Unigram"`, `"type":"BPE"`, "only Unigram"},
		{`"byte_fallback":false`, `"byte_fallback":true`, "byte_fallback"},
		{`"unk_id":2`, `"unk_id":100000`, "unk_id"},
		{`"type":"WhitespaceSplit"`, `"type":"Digits"`, "pre_tokenizer"},
		{`"prepend_scheme":"always"`, `"prepend_scheme":"never"`, "Metaspace"},
		{`"type":"Precompiled"`, `"type":"NFC"`, "normalizer"},
		{`"precompiled_charsmap":"`, `"precompiled_charsmap":"AAAA`, "charsmap"},
		{`"type":"TemplateProcessing"`, `"type":"ByteLevel"`, "post_processor"},
		{`"special":true`, `"special":false`, "added_tokens"},
	} {
		if !strings.Contains(good, c.from) {
			t.Fatalf("the file has no %s", c.from)
		}
		if _, err := Parse([]byte(strings.Replace(good, c.from, c.to, 1))); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.to, err)
		}
	}
}

func FuzzEncode(f *testing.F) {
	tokenizer := parsed(f, "first")
	for _, s := range []string{"", "a b", "e\u0301", "\xff", "👨‍👩‍👧", "</s>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := tokenizer.Encode(text, 64)
		if err != nil || len(ids) == 0 || len(ids) > 64 || ids[len(ids)-1] != tokenizer.End() {
			t.Fatalf("%q: %v, %v", text, ids, err)
		}
		tokenizer.Decode(ids)
	})
}
