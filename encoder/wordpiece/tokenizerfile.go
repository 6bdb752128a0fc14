package wordpiece

import (
	"encoding/json"
	"fmt"

	"example.org/conclave/encoder/framing"
)

// tokenizerFile is the part of a tokenizer.json that decides about ids. The
// format has no specification; the field names are those that Hugging Face
// tokenizers 0.23 writes.
type tokenizerFile struct {
	AddedTokens []struct {
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
	Normalizer *struct {
		Type               string `json:"type"`
		CleanText          bool   `json:"clean_text"`
		HandleChineseChars bool   `json:"handle_chinese_chars"`
		StripAccents       *bool  `json:"strip_accents"`
		Lowercase          bool   `json:"lowercase"`
	} `json:"normalizer"`
	PreTokenizer *struct {
		Type string `json:"type"`
	} `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         struct {
		Type     string         `json:"type"`
		UnkToken string         `json:"unk_token"`
		Prefix   *string        `json:"continuing_subword_prefix"`
		Longest  *int           `json:"max_input_chars_per_word"`
		Vocab    map[string]int `json:"vocab"`
	} `json:"model"`
}

// vocabulary returns the vocabulary in the file. It fails for settings with which texts would be split in a way that
// this package does not know.
func (f *tokenizerFile) vocabulary() (*vocabulary, error) {
	// Older files leave the model's type out.
	if f.Model.Type != "WordPiece" && f.Model.Type != "" {
		return nil, fmt.Errorf("model.type is %q; only WordPiece is read", f.Model.Type)
	}
	if len(f.Model.Vocab) == 0 {
		return nil, fmt.Errorf("model.vocab is empty")
	}
	if f.Normalizer == nil || f.Normalizer.Type != "BertNormalizer" {
		return nil, fmt.Errorf("normalizer is not a BertNormalizer; no other is read")
	}
	if !f.Normalizer.CleanText {
		return nil, fmt.Errorf("normalizer.clean_text is false; only true is supported")
	}
	if f.PreTokenizer == nil || f.PreTokenizer.Type != "BertPreTokenizer" {
		return nil, fmt.Errorf("pre_tokenizer is not a BertPreTokenizer; no other is read")
	}
	for _, added := range f.AddedTokens {
		if !added.Special {
			return nil, fmt.Errorf(
				"added_tokens has %q, which is no special token; words added to a vocabulary are not supported",
				added.Content,
			)
		}
	}
	m := &f.Model
	if m.UnkToken != "" && m.UnkToken != unknown || m.Prefix != nil && *m.Prefix != continuation ||
		m.Longest != nil && *m.Longest != longestWord {
		return nil, fmt.Errorf(
			"model has an unk_token, continuing_subword_prefix or max_input_chars_per_word other than BERT's %s, %s and %d",
			unknown, continuation, longestWord,
		)
	}
	frame := bertFrame()
	if own, err := framing.Parse(f.PostProcessor); err == nil {
		_, start := m.Vocab[own.Start]
		if _, end := m.Vocab[own.End]; start && end { // MPNet's vocabulary has BERT's tokens, too
			frame = own
		}
	}
	return &vocabulary{
		frame:        frame,
		ids:          m.Vocab,
		ideographs:   f.Normalizer.HandleChineseChars,
		stripAccents: f.Normalizer.StripAccents,
		lowerCase:    &f.Normalizer.Lowercase,
	}, nil
}
