package unigram

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"example.org/conclave/encoder/framing"
)

// file is what a tokenizer.json says, as far as it decides which ids a text gets.
type file struct {
	AddedTokens []struct {
		ID      int    `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
	Normalizer    *step           `json:"normalizer"`
	PreTokenizer  *step           `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         struct {
		Type         string  `json:"type"`
		Unknown      *int    `json:"unk_id"`
		ByteFallback bool    `json:"byte_fallback"`
		Vocabulary   []piece `json:"vocab"`
	} `json:"model"`
}

// step is a normaliser or pre-tokenizer, or several in a row.
type step struct {
	Type          string  `json:"type"`
	Normalizers   []*step `json:"normalizers"`
	PreTokenizers []*step `json:"pretokenizers"`
	// Of Precompiled: the base64 of SentencePiece's map of characters.
	Map string `json:"precompiled_charsmap"`
	// Of Strip.
	Left  bool `json:"strip_left"`
	Right bool `json:"strip_right"`
	// Of Replace.
	Pattern struct {
		Regex string `json:"Regex"`
	} `json:"pattern"`
	Content string `json:"content"`
	// Of Metaspace. Older files say add_prefix_space, newer ones prepend_scheme.
	Replacement string  `json:"replacement"`
	Prefix      *bool   `json:"add_prefix_space"`
	Prepend     *string `json:"prepend_scheme"`
	Split       *bool   `json:"split"`
}

// piece is a pair [text, score] of the file.
type piece struct {
	text  string
	score float64
}

// UnmarshalJSON reads a pair [text, score]. It fails if one is missing or has another type. It ignores further
// elements, and null for one of both.
func (p *piece) UnmarshalJSON(data []byte) error {
	if p.readPlain(data) { // of a quarter of a million pieces nearly all
		return nil
	}
	var pair [2]json.RawMessage
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	return errors.Join(json.Unmarshal(pair[0], &p.text), json.Unmarshal(pair[1], &p.score))
}

// readPlain reads a pair whose text has no escapes and whose score is followed by nothing. It returns false, and
// changes nothing, for any other JSON.
func (p *piece) readPlain(data []byte) bool {
	rest, ok := bytes.CutPrefix(data, []byte(`["`))
	if !ok {
		return false
	}
	text, score, ok := bytes.Cut(rest, []byte(`"`))
	if !ok || bytes.IndexByte(text, '\\') >= 0 || !utf8.Valid(text) {
		return false
	}
	score, begins := bytes.CutPrefix(bytes.TrimSpace(score), []byte(","))
	score, ends := bytes.CutSuffix(score, []byte("]"))
	value, err := strconv.ParseFloat(string(bytes.TrimSpace(score)), 64)
	if !begins || !ends || err != nil {
		return false
	}
	p.text = string(text)
	p.score = value
	return true
}

// Parse returns the tokenizer in a tokenizer.json with a Unigram model, in the forms of T5's and XLM-RoBERTa's. It
// fails for settings with which texts would be split in a way that this package does not know.
func Parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	t := &Tokenizer{ids: map[string]int32{}}
	if err := errors.Join(t.readNormalisation(f.Normalizer), t.readSplitting(f.PreTokenizer)); err != nil {
		return nil, err
	}
	m := &f.Model
	switch {
	case m.Type != "Unigram":
		return nil, fmt.Errorf("model.type is %q; only Unigram is read", m.Type)
	case m.ByteFallback:
		return nil, errors.New("model.byte_fallback is true; only false is supported")
	case len(m.Vocabulary) == 0:
		return nil, errors.New("model.vocab is empty")
	case m.Unknown == nil || *m.Unknown < 0 || *m.Unknown >= len(m.Vocabulary):
		return nil, fmt.Errorf("model.unk_id names none of the %d pieces", len(m.Vocabulary))
	}
	t.unknown = int32(*m.Unknown)
	least := math.Inf(1)
	for id, p := range m.Vocabulary {
		if math.IsNaN(p.score) || math.IsInf(p.score, 0) {
			return nil, fmt.Errorf("model.vocab: the score of %q is %v", p.text, p.score)
		}
		t.pieces, t.scores = append(t.pieces, p.text), append(t.scores, p.score)
		least = min(least, p.score)
		if p.text != "" {
			t.ids[p.text] = int32(id)
			t.longest = max(t.longest, len(p.text))
		}
	}
	t.unknownScore = least - unknownPenalty
	if err := t.readSpecial(&f); err != nil {
		return nil, err
	}
	return t, t.tryASCII()
}

// readSpecial sets the tokens around a text (t.frame, t.end) by the file, and hides the special pieces, so that no text
// is split into them. It fails if a token around texts is no piece, or if a token that is not special was added.
func (t *Tokenizer) readSpecial(f *file) error {
	t.hidden = make([]bool, len(t.pieces))
	hide := func(id int32) {
		t.hidden[id] = true
		if t.ids[t.pieces[id]] == id {
			delete(t.ids, t.pieces[id])
		}
	}
	var err error
	t.frame, err = framing.Parse(f.PostProcessor)
	if err != nil {
		return err
	}
	id, ok := t.ids[t.frame.End]
	if !ok {
		return fmt.Errorf("post_processor puts %q behind a text, which is no piece of the vocabulary", t.frame.End)
	}
	t.end = id
	hide(id)
	if t.frame.Start != "" {
		id, ok := t.ids[t.frame.Start]
		if !ok {
			return fmt.Errorf("post_processor puts %q before a text, which is no piece of the vocabulary", t.frame.Start)
		}
		hide(id)
	}
	hide(t.unknown)
	for _, a := range f.AddedTokens {
		if !a.Special {
			return fmt.Errorf(
				"added_tokens has %q, which is no special token; words added to a vocabulary are not supported",
				a.Content,
			)
		}
		if a.ID >= 0 && a.ID < len(t.pieces) && t.pieces[a.ID] == a.Content {
			hide(int32(a.ID))
		}
	}
	return nil
}

// readNormalisation sets how t normalises texts by the normalizer of the file, which may be nil. It accepts a map of
// characters, and after it the steps that cut trailing spaces and replace several spaces by one. It fails for any other
// step.
func (t *Tokenizer) readNormalisation(s *step) error {
	if s == nil {
		return nil
	}
	steps := []*step{s}
	if s.Type == "Sequence" {
		steps = s.Normalizers
	}
	for i, s := range steps {
		switch {
		case s.Type == "Precompiled" && i == 0:
			data, err := base64.StdEncoding.DecodeString(s.Map)
			if err == nil {
				t.chars, err = parseMap(data)
			}
			if err != nil {
				return fmt.Errorf("normalizer: precompiled_charsmap: %w", err)
			}
		case s.Type == "Strip" && !s.Left && s.Right && t.squeezed == "":
			t.strip = true
		case s.Type == "Replace" && s.Pattern.Regex == " {2,}" && (s.Content == space || s.Content == " "):
			t.squeezed = s.Content
		default:
			return fmt.Errorf(
				"normalizer: a step %q is not supported here; a map of characters (Precompiled), then Strip on the right and Replace of several spaces are",
				s.Type,
			)
		}
	}
	return nil
}

// readSplitting sets how t splits texts into words, by the pre_tokenizer of the file. It accepts Metaspace, alone or
// after WhitespaceSplit, if it puts ▁ before every word. It fails for anything else, and if there is none.
func (t *Tokenizer) readSplitting(s *step) error {
	if s == nil {
		return errors.New("pre_tokenizer is missing; Metaspace is needed")
	}
	steps := []*step{s}
	if s.Type == "Sequence" {
		steps = s.PreTokenizers
	}
	if len(steps) == 2 && steps[0].Type == "WhitespaceSplit" {
		t.words = true
		steps = steps[1:]
	}
	if len(steps) != 1 || steps[0].Type != "Metaspace" {
		return fmt.Errorf("pre_tokenizer %q is not supported; Metaspace is, alone or behind WhitespaceSplit", s.Type)
	}
	m := steps[0]
	always := m.Prepend != nil && *m.Prepend == "always" || m.Prepend == nil && m.Prefix != nil && *m.Prefix
	if m.Replacement != space || !always || m.Split != nil && !*m.Split {
		return fmt.Errorf("pre_tokenizer: a Metaspace that does not put %s before every word is not supported", space)
	}
	return nil
}
