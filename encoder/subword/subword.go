// Package subword wraps the tokenizers of RoBERTa (package bytepair) and XLM-RoBERTa (package
// unigram) for an encoder. They only split texts; this package adds the special tokens around
// texts, pairs of texts, and how much of a text the vocabulary knows.
package subword

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/conclave/encoder/bytepair"
	"example.org/conclave/encoder/framing"
	"example.org/conclave/encoder/unigram"
	"example.org/conclave/encoder/wordpiece"
)

// Tokenizer is safe for concurrent use.
type Tokenizer struct {
	split   func(ids []int32, text string, limit int) ([]int32, error)
	form    func(string) string // before all else; nil: nothing
	frame   framing.Frame
	special [2]int32 // those that begin and end a text
	pad     int32
	unknown int32                 // -1: there is none
	scripts []*unicode.RangeTable // that the vocabulary has the words of
	strange []bool                // by id
	whole   []string
	texts   []string // of the pieces, by id, without a space in front
}

// Kind returns the type of the model in a tokenizer.json: WordPiece, BPE, Unigram or another. Of older files, which
// do not name it, the vocabulary tells. It fails if data is no such file.
func Kind(data []byte) (string, error) {
	var file struct {
		Model *struct {
			Type  string          `json:"type"`
			Vocab json.RawMessage `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return "", fmt.Errorf("not a tokenizer.json: %w", err)
	}
	switch m := file.Model; {
	case m == nil:
		return "", fmt.Errorf("not a tokenizer.json: it has no model")
	case m.Type != "": // older files leave it out
		return m.Type, nil
	case strings.HasPrefix(strings.TrimSpace(string(m.Vocab)), "["):
		return "Unigram", nil
	}
	return "WordPiece", nil
}

// Parse returns the tokenizer in a tokenizer.json with a model of type BPE or Unigram. It fails for any other, and for
// special tokens that the vocabulary lacks.
func Parse(data []byte) (*Tokenizer, error) {
	kind, err := Kind(data)
	if err != nil {
		return nil, err
	}
	t := new(Tokenizer)
	var ids map[string]int
	var text func(piece string) (text string, begins bool)
	switch kind {
	case "BPE":
		b, err := bytepair.Parse(data)
		if err != nil {
			return nil, err
		}
		ids = b.IDs
		t.frame = b.Frame
		t.split = func(ids []int32, text string, limit int) ([]int32, error) { return b.Append(ids, text, limit), nil }
		decode := bytepair.Decoder()
		text = func(piece string) (string, bool) { return strings.CutPrefix(decode(piece), " ") }
	case "Unigram":
		u, err := unigram.Parse(data)
		if err != nil {
			return nil, err
		}
		ids = u.IDs()
		t.frame = u.Frame()
		t.split = u.Append
		text = func(piece string) (string, bool) { return strings.CutPrefix(piece, "▁") }
	default:
		return nil, fmt.Errorf("model.type is %q; BPE and Unigram are read here", kind)
	}
	return t, t.fillKnown(ids, text)
}

// fillKnown sets t's special ids, covered scripts, texts of pieces, strange pieces and whole words. ids has the id of
// each piece of the vocabulary. text returns the text of a piece, and whether it begins a word. It fails if a token
// that stands around texts (t.frame) is missing.
func (t *Tokenizer) fillKnown(ids map[string]int, text func(piece string) (string, bool)) error {
	id := func(name string) (int32, bool) {
		at, ok := ids[name]
		return int32(at), ok
	}
	var begins, ends bool
	t.special[0], begins = id(t.frame.Start)
	t.special[1], ends = id(t.frame.End)
	if !begins || !ends {
		return fmt.Errorf("post_processor puts %q and %q around a text; both have to be in the vocabulary", t.frame.Start, t.frame.End)
	}
	t.pad, _ = id("<pad>") // 0 where there is none: the mask hides it
	t.unknown = -1
	if at, ok := id("<unk>"); ok {
		t.unknown = at
	}
	order := make([]piece, 0, len(ids))
	for name, at := range ids {
		plain, begins := text(name)
		order = append(order, piece{at, plain, begins})
	}
	slices.SortFunc(order, func(a, b piece) int { return a.id - b.id })
	t.scripts = coveredScripts(order)
	most := order[len(order)-1].id
	t.strange = make([]bool, min(most, 4*len(ids)+1024)+1)
	t.texts = make([]string, len(t.strange))
	known := map[string]bool{}
	for _, p := range order {
		first, _ := utf8.DecodeRuneInString(p.text)
		if p.id < len(t.strange) {
			t.texts[p.id] = p.text
			t.strange[p.id] = int32(p.id) == t.unknown || first == utf8.RuneError && p.text != "" ||
				unicode.IsLetter(first) && !t.coversScript(first)
		}
		word := strings.ToLower(p.text)
		if p.begins && word != "" && !known[word] &&
			!strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) || !t.coversScript(r) }) {
			known[word] = true
			t.whole = append(t.whole, word)
		}
	}
	return nil
}

// A script is covered if at least this share of the vocabulary's words, or this number of them, is in
// it. The number is for vocabularies of a hundred languages, which have a hundredth of their words in
// some scripts.
const (
	coveredShare = .02
	coveredWords = 300
)

// piece is a piece of a vocabulary: its text, without the space that it may begin with, and whether it begins a word.
type piece struct {
	id     int
	text   string
	begins bool
}

// coveredScripts returns the scripts that at least coveredShare of the words of a vocabulary, or coveredWords of
// them, begin with, those of the most words first.
func coveredScripts(pieces []piece) (covered []*unicode.RangeTable) {
	counts := map[*unicode.RangeTable]int{}
	var met []*unicode.RangeTable // the keys of counts
	words := 0
	var last *unicode.RangeTable // most pieces have the script of the one before
	for _, p := range pieces {
		first, _ := utf8.DecodeRuneInString(p.text)
		// Some scripts put no spaces between words.
		if !unicode.IsLetter(first) || !p.begins && !IsUnspaced(first) {
			continue
		}
		words++
		if last == nil || !unicode.Is(last, first) {
			last = scriptOf(first, met)
			if last == nil {
				continue
			}
			if counts[last] == 0 {
				met = append(met, last)
			}
		}
		counts[last]++
	}
	for _, script := range met {
		if n := counts[script]; float64(n) >= coveredShare*float64(words) || n >= coveredWords {
			covered = append(covered, script)
		}
	}
	slices.SortStableFunc(covered, func(a, b *unicode.RangeTable) int { return counts[b] - counts[a] })
	return covered
}

// scriptOf returns the script of a letter, nil if it has none. It looks at the scripts in first before all others.
func scriptOf(letter rune, first []*unicode.RangeTable) *unicode.RangeTable {
	for _, table := range first {
		if unicode.Is(table, letter) {
			return table
		}
	}
	for _, table := range unicode.Scripts {
		if unicode.Is(table, letter) {
			return table
		}
	}
	return nil
}

// IsUnspaced reports whether a letter is of a script that is written without spaces between words.
func IsUnspaced(letter rune) bool {
	return unicode.In(letter, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer,
		unicode.Myanmar)
}

// Text returns the text of a piece, without the space that it may begin with; "" for an impossible id.
func (t *Tokenizer) Text(id int32) string {
	if id < 0 || int(id) >= len(t.texts) {
		return ""
	}
	return t.texts[id]
}

// coversScript reports whether the vocabulary covers the script of a letter (coveredScripts). It returns true for
// letters that belong to no script.
func (t *Tokenizer) coversScript(letter rune) bool {
	for _, table := range t.scripts {
		if unicode.Is(table, letter) {
			return true
		}
	}
	return unicode.In(letter, unicode.Common, unicode.Inherited)
}

// Behind returns a tokenizer of the same vocabulary that applies form to each text first (wordpiece.Tokenizer.Behind).
func (t *Tokenizer) Behind(form func(text string) string) *Tokenizer {
	u := *t
	u.form = form
	return &u
}

// appendPieces appends the ids of a text's pieces, without special tokens, to ids and returns the result, cut to
// limit entries, including those that ids had. It fails if the tokenizer does, which only a damaged file's does.
func (t *Tokenizer) appendPieces(ids []int32, text string, limit int) ([]int32, error) {
	if t.form != nil {
		text = t.form(text)
	}
	return t.split(ids, text, limit)
}

// Encode returns the ids of a text between the special tokens, at most maxTokens with these; the end of the text is
// cut. It fails for maxTokens below 2, or if the file is damaged. Any bytes are allowed: broken UTF-8 is dropped.
func (t *Tokenizer) Encode(text string, maxTokens int) ([]int32, error) {
	if maxTokens < 2 {
		return nil, fmt.Errorf("a limit of %d tokens leaves no room for those around a text: it must be at least 2", maxTokens)
	}
	ids, err := t.appendPieces([]int32{t.special[0]}, text, maxTokens-1)
	if err != nil {
		return nil, err
	}
	return append(ids, t.special[1]), nil
}

// EncodePair returns the ids of two texts between the special tokens, at most maxTokens with these, and the index
// at which the second text begins. Texts that are too long are cut as by wordpiece.Tokenizer.EncodePair. It fails
// if maxTokens leaves no room for the special tokens, or if the file is damaged.
func (t *Tokenizer) EncodePair(first, second string, maxTokens int) (ids []int32, boundary int, err error) {
	room := maxTokens - t.frame.Between()
	if room < 0 {
		return nil, 0, fmt.Errorf(
			"a limit of %d tokens leaves no room for those around two texts: it must be at least %d", maxTokens,
			t.frame.Between(),
		)
	}
	// One more than fits tells a text that fits from one that does not. Where both are far too
	// long and the room is odd, it matters which is the longer.
	limit := room + 1
	a, err := t.appendPieces(nil, first, limit)
	if err != nil {
		return nil, 0, err
	}
	b, err := t.appendPieces(nil, second, limit)
	if err == nil && len(a) == limit && len(b) == limit && room%2 == 1 {
		a, err = t.appendPieces(nil, first, math.MaxInt)
		if err == nil {
			b, err = t.appendPieces(nil, second, math.MaxInt)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	keepA, keepB := framing.LongestFirst(len(a), len(b), room)
	ids = append(append([]int32{t.special[0]}, a[:keepA]...), t.special[1])
	if t.frame.Twice {
		ids = append(ids, t.special[1])
	}
	boundary = len(ids)
	return append(append(ids, b[:keepB]...), t.special[1]), boundary, nil
}

// Pad returns the id that fills the shorter rows of a batch.
func (t *Tokenizer) Pad() int32 { return t.pad }

// CLS returns the id that opens an input.
func (t *Tokenizer) CLS() int32 { return t.special[0] }

// SEP returns the id that ends a text.
func (t *Tokenizer) SEP() int32 { return t.special[1] }

// Unknown reports whether an id is the one that stands for characters without a piece.
func (t *Tokenizer) Unknown(id int32) bool { return id == t.unknown }

// Strange reports whether an id is unknown, a part of a character, or a piece in a script that the vocabulary does not
// cover. A text without such ids is read as a whole.
func (t *Tokenizer) Strange(id int32) bool {
	return id >= 0 && int(id) < len(t.strange) && t.strange[id]
}

// WholeWords returns the words of letters that are a piece of the vocabulary, in a script that it covers: in lower
// case, each once, in the order of their ids. The list must not be changed.
func (t *Tokenizer) WholeWords() []string { return t.whole }

// mostWords is the most bytes of a text in which Words counts.
const mostWords = 8192

// Words counts the words of a text, or of its first mostWords bytes if it is longer than any question.
func (t *Tokenizer) Words(text string) (w wordpiece.Words) {
	text = strings.ToValidUTF8(text[:min(len(text), mostWords)], "")
	if t.form != nil {
		text = t.form(text)
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.N, unicode.M)
	}) {
		w.All++
		characters := utf8.RuneCountInString(word)
		w.Characters += characters
		first, _ := utf8.DecodeRuneInString(word)
		ids, err := t.split(nil, " "+word, len(word)+2)
		switch {
		case err != nil || slices.Contains(ids, t.unknown) || unicode.IsLetter(first) && !t.coversScript(first):
			w.Unknown++
			continue
		case len(ids) == 1:
			w.Whole++
		}
		w.Read += characters
	}
	return w
}

// SelfTest returns an error unless the special tokens frame every text and stand nowhere else.
func (t *Tokenizer) SelfTest() error {
	for _, text := range []string{"", "what is the capital of France?", "Café 北京  \t naïve", "<s> </s> \xff\xfe"} {
		ids, err := t.Encode(text, 64)
		if err != nil {
			return fmt.Errorf("tokenizer self-test: %q: %w", text, err)
		}
		inner := ids[1 : len(ids)-1]
		if ids[0] != t.special[0] || ids[len(ids)-1] != t.special[1] || slices.Contains(inner, t.special[0]) ||
			slices.Contains(inner, t.special[1]) {
			return fmt.Errorf("tokenizer self-test: %q gives %v, which %v do not frame", text, ids, t.special)
		}
	}
	return nil
}
