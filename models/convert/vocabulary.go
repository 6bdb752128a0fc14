package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"example.org/conclave/encoder/framing"
	"example.org/conclave/internal/disk"
)

// tokenizer is a checkpoint's tokenizer file, which an import copies.
type tokenizer struct {
	name      string // tokenizer.json or vocab.txt
	data      []byte
	kind      string // the type of its model: WordPiece, BPE or Unigram
	lowerCase bool
	cls, sep  int // ids of the tokens that begin and end a text
	pieces    int // how many there are
	ids       map[string]int
}

// readTokenizer reads tokenizer.json in dir, which is more detailed, or else vocab.txt, and checks that the tokens
// around a text are in it and that all ids fit a table of rows word pieces; rows is 0 if the number is unknown. It
// fails if there is neither file, the file is damaged, or it is of a kind that is not imported (*KindError).
// Whether its words are split in a known way is not checked.
func readTokenizer(dir string, rows int) (*tokenizer, error) {
	t := &tokenizer{name: "tokenizer.json", kind: wordPiece}
	frame := [2]string{"[CLS]", "[SEP]"}
	var ids map[string]int
	var err error
	t.data, err = disk.ReadRegular(filepath.Join(dir, t.name), mostTokenizer)
	if err == nil {
		ids, frame, err = t.parseJSON()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, t.name), err)
		}
	} else if errors.Is(err, os.ErrNotExist) {
		t.name = "vocab.txt"
		t.data, err = disk.ReadRegular(filepath.Join(dir, t.name), mostTokenizer)
		if errors.Is(err, os.ErrNotExist) {
			return nil, noTokenizer(dir)
		} else if err == nil {
			ids = lineIDs(t.data)
			t.lowerCase, err = lowerCase(dir, ids)
		}
	}
	if err != nil {
		return nil, err
	}
	specials := frame[:]
	if t.kind == wordPiece {
		specials = append([]string{"[UNK]"}, specials...)
	}
	for _, special := range specials {
		if _, ok := ids[special]; !ok {
			return nil, fmt.Errorf("%s: no word piece %s", filepath.Join(dir, t.name), special)
		}
	}
	for piece, id := range ids {
		if id < 0 || rows > 0 && id >= rows {
			return nil, fmt.Errorf(
				"%s: word piece %q has id %d, and the model has %d rows (vocab_size)", filepath.Join(dir, t.name),
				piece, id, rows,
			)
		}
	}
	t.cls = ids[frame[0]]
	t.sep = ids[frame[1]]
	t.pieces = len(ids)
	t.ids = ids
	return t, nil
}

// file returns a list of one: the tokenizer's file, under the name that it has in a bundle.
func (t *tokenizer) file() []bundleFile {
	return []bundleFile{{t.name, func(w io.Writer) error {
		_, err := w.Write(t.data)
		return err
	}}}
}

// same returns an error unless other has the same file, under the same name, and the same lower-casing as t.
func (t *tokenizer) same(other *tokenizer) error {
	if t.name != other.name || t.lowerCase != other.lowerCase || !bytes.Equal(t.data, other.data) {
		return fmt.Errorf(
			"the encoders have different tokenizers: %s and %s, lower case %t and %t", t.name, other.name, t.lowerCase,
			other.lowerCase,
		)
	}
	return nil
}

// The types of a tokenizer.json's model that are imported.
const (
	wordPiece = "WordPiece" // BERT, DistilBERT, MPNet
	bytePair  = "BPE"       // RoBERTa
	unigram   = "Unigram"   // XLM-RoBERTa
)

// noTokenizer returns the error of a folder without a tokenizer's file, which names the file that it has instead, if
// any.
func noTokenizer(dir string) error {
	for _, other := range []string{"sentencepiece.bpe.model", "spiece.model", "merges.txt"} {
		if exists(filepath.Join(dir, other)) {
			return fmt.Errorf(
				"%s has %s and no tokenizer.json: save the tokenizer in transformers, which writes one (AutoTokenizer)",
				dir, other,
			)
		}
	}
	return fmt.Errorf("%s has neither tokenizer.json nor vocab.txt", dir)
}

// tokenizerJSON is the part of a tokenizer.json that an import reads.
type tokenizerJSON struct {
	AddedTokens []struct {
		ID      int    `json:"id"`
		Content string `json:"content"`
	} `json:"added_tokens"`
	Normalizer *struct {
		Type      string `json:"type"`
		LowerCase *bool  `json:"lowercase"`
	} `json:"normalizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         *struct {
		Type  string          `json:"type"`
		Vocab json.RawMessage `json:"vocab"`
	} `json:"model"`
}

// frame returns the tokens before and after a text by the post-processor, of which the second may be ""; ok is
// false if the post-processor is not one of those known or puts nothing before a text.
func (f *tokenizerJSON) frame() (frame [2]string, ok bool) {
	around, err := framing.Parse(f.PostProcessor)
	return [2]string{around.Start, around.End}, err == nil && around.Start != ""
}

// parseJSON returns the ids of the pieces of t.data, a tokenizer.json, and the tokens around a text, and sets
// t.kind and t.lowerCase. For a WordPiece model the tokens are [CLS] and [SEP] where the file does not name others
// that it has. It fails for kinds of tokenizers that are not imported (*KindError), and for a WordPiece model
// without BERT's normalizer.
func (t *tokenizer) parseJSON() (ids map[string]int, frame [2]string, err error) {
	var file tokenizerJSON
	if err := json.Unmarshal(t.data, &file); err != nil {
		return nil, frame, fmt.Errorf("it is no tokenizer.json of Hugging Face's tokenizers: %w", err)
	}
	if file.Model == nil {
		return nil, frame, errors.New("it has no model: it is no tokenizer.json of Hugging Face's tokenizers")
	}
	if file.Model.Type != "" {
		t.kind = file.Model.Type
	} else if bytes.HasPrefix(bytes.TrimSpace(file.Model.Vocab), []byte("[")) { // older files have no type
		t.kind = unigram
	}
	own, known := file.frame()
	if t.kind != wordPiece && (!known || t.kind != bytePair && t.kind != unigram) {
		return nil, frame, otherTokenizer(t.kind)
	}
	ids, err = file.pieces(t.kind)
	if err != nil {
		return nil, frame, err
	}
	frame = own
	if t.kind == wordPiece {
		_, start := ids[own[0]]
		_, end := ids[own[1]]
		if !known || !start || !end {
			frame = [2]string{"[CLS]", "[SEP]"}
		}
	}
	if t.kind != wordPiece {
		for _, added := range file.AddedTokens {
			ids[added.Content] = added.ID
		}
		return ids, frame, nil
	}
	if n := file.Normalizer; n == nil || n.Type != "BertNormalizer" || n.LowerCase == nil {
		kind := "none"
		if n != nil {
			kind = fmt.Sprintf("%q", n.Type)
		}
		return nil, frame, fmt.Errorf("normalizer is %s; only BertNormalizer, with lowercase, is supported", kind)
	}
	t.lowerCase = *file.Normalizer.LowerCase
	return ids, frame, nil
}

// pieces returns the ids of the model's pieces, which the file has as a list for a Unigram model and as an object
// for other kinds. It fails if the file has them otherwise. f.Model is not nil.
func (f *tokenizerJSON) pieces(kind string) (ids map[string]int, err error) {
	ids = map[string]int{}
	if kind != unigram {
		if err := json.Unmarshal(f.Model.Vocab, &ids); err != nil {
			return nil, fmt.Errorf("model.vocab is no object from pieces to their ids: %w", err)
		}
		return ids, nil
	}
	var list [][]any
	if err := json.Unmarshal(f.Model.Vocab, &list); err != nil {
		return nil, fmt.Errorf("model.vocab is no list of pieces with their scores: %w", err)
	}
	for id, pair := range list {
		if len(pair) > 0 {
			ids[fmt.Sprint(pair[0])] = id
		}
	}
	return ids, nil
}

// otherTokenizer returns the *KindError of a tokenizer of a kind that cannot be used; it says what can be imported.
func otherTokenizer(kind string) error {
	what := fmt.Sprintf("a tokenizer of another kind (model.type %q)", kind)
	switch kind {
	case unigram:
		what = "a Unigram (SentencePiece) tokenizer that puts no token before a text, as T5's"
	case bytePair:
		what = "a byte-pair tokenizer (BPE) that puts no tokens around a text, as decoders' models have"
	case "WordLevel":
		what = "a tokenizer of whole words (WordLevel)"
	}
	return &KindError{
		What:     what,
		Possible: "Encoders need BERT's WordPiece, RoBERTa's byte-level BPE or XLM-RoBERTa's Unigram; a T5 can be imported as a generator",
	}
}

// lowerCase reports whether texts are lower-cased: as tokenizer_config.json in dir says, or else if no piece in ids
// has an upper-case letter, those in brackets aside. It fails if that file cannot be read, or removes accents
// without lower-casing or the reverse.
func lowerCase(dir string, ids map[string]int) (bool, error) {
	var settings struct {
		LowerCase *bool `json:"do_lower_case"`
		Accents   *bool `json:"strip_accents"`
	}
	path := filepath.Join(dir, "tokenizer_config.json")
	if err := readJSON(path, &settings); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	lower := true
	for piece := range ids {
		if !strings.HasPrefix(piece, "[") && strings.ContainsFunc(piece, unicode.IsUpper) {
			lower = false
		}
	}
	lower = valueOr(settings.LowerCase, lower)
	if settings.Accents != nil && *settings.Accents != lower {
		return false, fmt.Errorf(
			"%s: strip_accents is %t and do_lower_case %t; a tokenizer.json is needed to say that", path,
			*settings.Accents, lower,
		)
	}
	return lower, nil
}

// lineIDs returns the number, from 0, of each line of a vocab.txt; for a line that occurs twice, the last one.
func lineIDs(data []byte) map[string]int {
	ids := map[string]int{}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		ids[strings.TrimSuffix(line, "\r")] = i
	}
	return ids
}
