package wordpiece

import (
	"fmt"
	"strings"
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
	PostProcessor *postProcessor `json:"post_processor"`
	Model         struct {
		Type                    string         `json:"type"`
		UnkToken                string         `json:"unk_token"`
		ContinuingSubwordPrefix *string        `json:"continuing_subword_prefix"`
		MaxInputCharsPerWord    *int           `json:"max_input_chars_per_word"`
		Vocab                   map[string]int `json:"vocab"`
	} `json:"model"`
}

type postProcessor struct {
	Type string `json:"type"`
	// TemplateProcessing
	Single []struct {
		SpecialToken *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
		Sequence *struct {
			ID string `json:"id"`
		} `json:"Sequence"`
	} `json:"single"`
	// BertProcessing: [token, id]
	Cls []any `json:"cls"`
	Sep []any `json:"sep"`
}

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
			return nil, fmt.Errorf("added_tokens has %q, which is no special token; words added to a vocabulary are not supported", added.Content)
		}
	}
	v := &vocabulary{
		ids: f.Model.Vocab, unk: f.Model.UnkToken, pad: "[PAD]", prefix: "##", maxWordRunes: 100,
		ideographs: f.Normalizer.HandleChineseChars, stripAccents: f.Normalizer.StripAccents, lowerCase: &f.Normalizer.Lowercase,
	}
	if v.unk == "" {
		v.unk = "[UNK]"
	}
	if f.Model.ContinuingSubwordPrefix != nil {
		v.prefix = *f.Model.ContinuingSubwordPrefix
	}
	if f.Model.MaxInputCharsPerWord != nil {
		v.maxWordRunes = *f.Model.MaxInputCharsPerWord
	}
	if v.maxWordRunes < 1 {
		return nil, fmt.Errorf("model.max_input_chars_per_word is %d; it must be at least 1", v.maxWordRunes)
	}
	var err error
	v.cls, v.sep, err = f.PostProcessor.specials()
	return v, err
}

// specials are the tokens that open an input and end a text. Without a post
// processor they are BERT's.
func (p *postProcessor) specials() (cls, sep string, err error) {
	if p == nil {
		return "[CLS]", "[SEP]", nil
	}
	switch p.Type {
	case "TemplateProcessing":
		if s := p.Single; len(s) == 3 && s[0].SpecialToken != nil && s[1].Sequence != nil && s[2].SpecialToken != nil {
			return s[0].SpecialToken.ID, s[2].SpecialToken.ID, nil
		}
		return "", "", fmt.Errorf("post_processor.single is not [CLS] text [SEP]; no other template is read")
	case "BertProcessing":
		if len(p.Cls) > 0 && len(p.Sep) > 0 {
			c, okC := p.Cls[0].(string)
			s, okS := p.Sep[0].(string)
			if okC && okS && strings.TrimSpace(c) != "" && strings.TrimSpace(s) != "" {
				return c, s, nil
			}
		}
		return "", "", fmt.Errorf("post_processor.cls and .sep do not name two tokens")
	}
	return "", "", fmt.Errorf("post_processor.type is %q; TemplateProcessing and BertProcessing are read", p.Type)
}
