package wordpiece

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"

	"example.org/conclave/encoder/framing"
	"example.org/conclave/internal/disk"

	"github.com/sugarme/tokenizer/model"
	"github.com/sugarme/tokenizer/model/wordpiece"
)

// vocabulary is the content of a tokenizer's file.
type vocabulary struct {
	ids          map[string]int
	ideographs   bool
	stripAccents *bool // nil: when the text is lower-cased
	lowerCase    *bool // nil: the file does not say
	frame        framing.Frame
}

// mostBytes is the most bytes of a tokenizer's file. Those of the largest vocabularies have
// a tenth of it.
const mostBytes = 256 << 20

// What all BERT models have.
const (
	unknown      = "[UNK]"
	continuation = "##"
	longestWord  = 100 // characters; a longer word is unknown to the reference
)

// Open reads a vocabulary from a vocab.txt (one piece a line, its line number its id) or a tokenizer.json of
// Hugging Face tokenizers; a name that ends in .json is the latter. lowerCase says whether the model was trained on
// lower-cased text; a tokenizer.json that says otherwise is an error, and so is one that asks for anything but
// BERT's normaliser and pre-tokenizer, or lacks a special token. Its template says which tokens stand around texts;
// truncation and padding are not read.
func Open(path string, lowerCase bool) (*Tokenizer, error) {
	data, err := disk.ReadRegular(path, mostBytes)
	if err != nil {
		return nil, fmt.Errorf("reading the tokenizer: %w", err)
	}
	parse := parseLines
	if filepath.Ext(path) == ".json" {
		parse = parseJSON
	}
	t, err := newFromVocabulary(parse, data, lowerCase)
	if err != nil {
		return nil, fmt.Errorf("tokenizer %s: %w", path, err)
	}
	return t, nil
}

// newFromVocabulary returns the tokenizer of the vocabulary that parse finds in data. It fails if parse does, if the
// file itself says whether to lower-case texts and lowerCase differs, or if a special token is missing.
func newFromVocabulary(parse func([]byte) (*vocabulary, error), data []byte, lowerCase bool) (*Tokenizer, error) {
	v, err := parse(data)
	if err != nil {
		return nil, err
	}
	if v.lowerCase != nil && *v.lowerCase != lowerCase {
		return nil, fmt.Errorf(
			"normalizer.lowercase is %t, but the bundle's manifest says lower_case: %t; one of them is wrong, and the model understands only text prepared as in its training",
			*v.lowerCase, lowerCase,
		)
	}
	return v.tokenizer(lowerCase)
}

// tokenizer returns the tokenizer of the vocabulary for texts that are lower-cased or not. It fails if a special
// token is missing or an id is negative or too large.
func (v *vocabulary) tokenizer(lowerCase bool) (*Tokenizer, error) {
	if v.frame.End == "" {
		v.frame = bertFrame()
	}
	for _, name := range []string{unknown, v.frame.Start, v.frame.End} {
		if _, ok := v.ids[name]; !ok {
			return nil, fmt.Errorf("the vocabulary of %d pieces has no %s, which every BERT model needs", len(v.ids), name)
		}
	}
	t := &Tokenizer{
		classes:     newClasses(),
		alphabet:    make(map[rune]struct{}),
		cls:         int32(v.ids[v.frame.Start]),
		sep:         int32(v.ids[v.frame.End]),
		unk:         int32(v.ids[unknown]),
		pad:         int32(v.padID()),
		frame:       v.frame,
		fingerprint: v.fingerprint(),
		scripts:     v.coveredScripts(),
		ids:         v.ids,
		split:       newSplitCache(8192),
	}
	stripAccents := lowerCase
	if v.stripAccents != nil {
		stripAccents = *v.stripAccents
	}
	t.normal = &normaliser{classes: t.classes, lowerCase: lowerCase, stripAccents: stripAccents, ideographs: v.ideographs}
	for piece, id := range v.ids {
		if id < 0 || id > math.MaxInt32 {
			return nil, fmt.Errorf("piece %q has the id %d, which is outside 0 to %d", piece, id, math.MaxInt32)
		}
		for _, r := range piece {
			t.alphabet[r] = struct{}{}
		}
		t.longest = max(t.longest, len(piece))
	}
	t.strange = t.strangePieces()
	ids := model.Vocab(v.ids)
	t.model = wordpiece.NewWordPieceBuilder().
		Vocab(&ids).
		UnkToken(unknown).
		ContinuingSubwordPrefix(continuation).
		MaxInputCharsPerWord(longestWord).
		Build()
	t.whole = sync.OnceValue(func() []string { return t.wholeWords(v) }) // few ask
	return t, nil
}

// bertFrame returns the tokens that BERT puts before and after a text: [CLS] and [SEP].
func bertFrame() framing.Frame { return framing.Frame{Start: "[CLS]", End: "[SEP]"} }

// padID returns the id of the token that fills up short rows of a batch ([PAD] or <pad>). Without such a token it
// returns 0, which does no harm: the mask hides these places.
func (v *vocabulary) padID() int {
	for _, name := range []string{"[PAD]", "<pad>"} {
		if id, ok := v.ids[name]; ok {
			return id
		}
	}
	return 0
}

// fingerprint returns the SHA-256 of the pieces in the order of their ids, in
// hexadecimal; the same for a vocab.txt and a tokenizer.json of one model.
func (v *vocabulary) fingerprint() string {
	sum := sha256.Sum256([]byte(strings.Join(v.orderedPieces(), "\n")))
	return hex.EncodeToString(sum[:])
}

// orderedPieces returns the pieces in the order of their ids.
func (v *vocabulary) orderedPieces() []string {
	type entry struct {
		id    int
		piece string
	}
	entries := make([]entry, 0, len(v.ids))
	for piece, id := range v.ids { // not looked up while sorting: a server starts sooner
		entries = append(entries, entry{id, piece})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	pieces := make([]string, len(entries))
	for i, e := range entries {
		pieces[i] = e.piece
	}
	return pieces
}

// parseLines reads a vocab.txt. As in the reference, white space at the end of a line is no part of the piece and a
// repeated piece has its last id. The error is always nil.
func parseLines(data []byte) (*vocabulary, error) {
	v := &vocabulary{ids: make(map[string]int), ideographs: true, frame: bertFrame()}
	for id, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		v.ids[strings.TrimRightFunc(line, unicode.IsSpace)] = id
	}
	return v, nil
}

// parseJSON returns the vocabulary in the text of a tokenizer.json. It fails for models other than BERT's WordPiece.
func parseJSON(data []byte) (*vocabulary, error) {
	var file tokenizerFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("not a tokenizer.json: %w", err)
	}
	return file.vocabulary()
}

// WholeWords returns the words of letters that are a piece of the vocabulary as they are, in a script that it
// covers, in the order of their ids: BERT's vocabularies begin with the most frequent ones. They are in lower case,
// and each is there once. The first call makes the list, which must not be changed.
func (t *Tokenizer) WholeWords() []string { return t.whole() }

// wholeWords returns the result of WholeWords for a vocabulary, which takes a pass over all of it.
func (t *Tokenizer) wholeWords(v *vocabulary) (words []string) {
	known := map[string]bool{}
	for _, piece := range v.orderedPieces() {
		word := strings.ToLower(piece)
		if known[word] || word == "" ||
			strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) || !t.coversScript(r) }) {
			continue
		}
		known[word] = true
		words = append(words, word)
	}
	return words
}
