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

	"example.org/conclave/internal/disk"
)

// tokenizer is a checkpoint's tokenizer file, as it will be copied.
type tokenizer struct {
	name      string // tokenizer.json or vocab.txt
	data      []byte
	lowerCase bool
	cls, sep  int // ids of [CLS] and [SEP]
	pieces    int // how many there are
}

// readTokenizer takes tokenizer.json, which says more, or else vocab.txt, and
// checks that its ids fit the model's table of rows word pieces; rows is 0 where
// the number is unknown. How it splits words is not checked here.
func readTokenizer(dir string, rows int) (*tokenizer, error) {
	t := &tokenizer{name: "tokenizer.json"}
	var ids map[string]int
	var err error
	t.data, err = disk.ReadRegular(filepath.Join(dir, t.name), mostTokenizer)
	if err == nil {
		ids, err = t.parseJSON()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, t.name), err)
		}
	} else if errors.Is(err, os.ErrNotExist) {
		t.name = "vocab.txt"
		t.data, err = disk.ReadRegular(filepath.Join(dir, t.name), mostTokenizer)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s has neither tokenizer.json nor vocab.txt", dir)
		} else if err == nil {
			ids = lineIDs(t.data)
			t.lowerCase, err = lowerCase(dir, ids)
		}
	}
	if err != nil {
		return nil, err
	}
	for _, special := range []string{"[UNK]", "[CLS]", "[SEP]"} {
		if _, ok := ids[special]; !ok {
			return nil, fmt.Errorf("%s: no word piece %s", filepath.Join(dir, t.name), special)
		}
	}
	for piece, id := range ids {
		if id < 0 || rows > 0 && id >= rows {
			return nil, fmt.Errorf(
				"%s: word piece %q has id %d, and the model has %d rows (vocab_size)",
				filepath.Join(dir, t.name),
				piece,
				id,
				rows,
			)
		}
	}
	t.cls = ids["[CLS]"]
	t.sep = ids["[SEP]"]
	t.pieces = len(ids)
	return t, nil
}

// file returns the tokenizer in a bundle.
func (t *tokenizer) file() []bundleFile {
	return []bundleFile{{t.name, func(w io.Writer) error {
		_, err := w.Write(t.data)
		return err
	}}}
}

// same reports whether two encoders can share one tokenizer.
func (t *tokenizer) same(other *tokenizer) error {
	if t.name != other.name || t.lowerCase != other.lowerCase || !bytes.Equal(t.data, other.data) {
		return fmt.Errorf(
			"the encoders have different tokenizers: %s and %s, lower case %t and %t",
			t.name,
			other.name,
			t.lowerCase,
			other.lowerCase,
		)
	}
	return nil
}

func (t *tokenizer) parseJSON() (map[string]int, error) {
	var file struct {
		Normalizer *struct {
			Type      string `json:"type"`
			LowerCase *bool  `json:"lowercase"`
		} `json:"normalizer"`
		Model *struct {
			Type  string          `json:"type"`
			Vocab json.RawMessage `json:"vocab"`
		} `json:"model"`
	}
	if err := json.Unmarshal(t.data, &file); err != nil {
		return nil, fmt.Errorf("it is no tokenizer.json of Hugging Face's tokenizers: %w", err)
	}
	if file.Model == nil {
		return nil, errors.New("it has no model: it is no tokenizer.json of Hugging Face's tokenizers")
	}
	if kind := file.Model.Type; kind != "WordPiece" && kind != "" {
		return nil, otherTokenizer(kind)
	}
	ids := map[string]int{}
	if err := json.Unmarshal(file.Model.Vocab, &ids); err != nil {
		// Older files have no type: Unigram's vocabulary is a list.
		if bytes.HasPrefix(bytes.TrimSpace(file.Model.Vocab), []byte("[")) {
			return nil, otherTokenizer("Unigram")
		}
		return nil, fmt.Errorf("model.vocab is no object from word pieces to their ids: %w", err)
	}
	if n := file.Normalizer; n == nil || n.Type != "BertNormalizer" || n.LowerCase == nil {
		kind := "none"
		if n != nil {
			kind = fmt.Sprintf("%q", n.Type)
		}
		return nil, fmt.Errorf("normalizer is %s; only BertNormalizer, with lowercase, is supported", kind)
	}
	t.lowerCase = *file.Normalizer.LowerCase
	return ids, nil
}

// otherTokenizer describes what a tokenizer is that is not BERT's, and what is possible.
func otherTokenizer(kind string) error {
	what := fmt.Sprintf("a tokenizer of another kind (model.type %q)", kind)
	switch kind {
	case "Unigram":
		what = "a Unigram (SentencePiece) tokenizer, as XLM-RoBERTa's and T5's models have"
	case "BPE":
		what = "a byte-pair tokenizer (BPE), as RoBERTa's, ModernBERT's and decoders' models have"
	case "WordLevel":
		what = "a tokenizer of whole words (WordLevel)"
	}
	return &KindError{
		What:     what,
		Possible: "Experts need BERT's WordPiece, as bert-base, all-MiniLM, BGE, E5 and Arctic have it; a T5 can be imported as a generator",
	}
}

// lowerCase reports what tokenizer_config.json says, or else whether the vocabulary
// can do without upper-case letters.
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
	lower = value(settings.LowerCase, lower)
	if settings.Accents != nil && *settings.Accents != lower {
		return false, fmt.Errorf(
			"%s: strip_accents is %t and do_lower_case %t; a tokenizer.json is needed to say that",
			path,
			*settings.Accents,
			lower,
		)
	}
	return lower, nil
}

// lineIDs gives each line of a vocab.txt its number.
func lineIDs(data []byte) map[string]int {
	ids := map[string]int{}
	for i, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		ids[strings.TrimSuffix(line, "\r")] = i
	}
	return ids
}
