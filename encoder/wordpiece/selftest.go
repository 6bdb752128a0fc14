package wordpiece

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// selfTestFile holds strings and the ids that the reference gives them; see
// selftest.py.
//
//go:embed selftest.json
var selfTestFile []byte

type selfTest struct {
	Reference  string         `json:"reference"`
	Vocabulary []string       `json:"vocabulary"`
	LowerCase  []selfTestCase `json:"lower_case"`
	Cased      []selfTestCase `json:"cased"`
	Pairs      [][5]int       `json:"pairs"` // tokens of two texts, limit, tokens kept of each
	Published  struct {
		SHA256    string         `json:"sha256"`
		LowerCase []selfTestCase `json:"lower_case"`
	} `json:"bert_base_uncased"`
}

type selfTestCase struct {
	Text string  `json:"text"`
	IDs  []int32 `json:"ids"`
}

// SelfTest compares the tokenizer, as built into this program, with ids that the reference computed for fixed strings,
// and returns the first difference. It finds a miscompiled or wrongly upgraded program before that gives every text a
// slightly wrong vector. It uses a small vocabulary and, if this tokenizer's is that of bert-base-uncased, which most
// BERT models share, also that one. Of any other it checks that [CLS] and [SEP] frame every text. Like the reference,
// it reads texts without a form (Behind). It returns nil if there is none.
func (t *Tokenizer) SelfTest() error {
	t = t.Behind(nil)
	test, err := readSelfTest()
	if err != nil {
		return err
	}
	for _, part := range []struct {
		lowerCase bool
		cases     []selfTestCase
	}{{true, test.LowerCase}, {false, test.Cased}} {
		small, err := newFromVocabulary(parseLines, []byte(strings.Join(test.Vocabulary, "\n")), part.lowerCase)
		if err == nil {
			err = errors.Join(
				small.checkCases(part.cases, test.Reference), small.comparePairs(test.Pairs, test.Reference),
			)
		}
		if err != nil {
			return fmt.Errorf("tokenizer self-test, lower-case %t: %w", part.lowerCase, err)
		}
	}
	if t.fingerprint == test.Published.SHA256 && t.normal.lowerCase && t.normal.stripAccents {
		if err := t.checkCases(test.Published.LowerCase, test.Reference); err != nil {
			return fmt.Errorf("tokenizer self-test with the vocabulary of bert-base-uncased: %w", err)
		}
	}
	for _, c := range append(test.Cased, selfTestCase{Text: "[CLS] [SEP] [PAD] [MASK] \xff\xfe"}) {
		ids, err := t.Encode(c.Text, 64)
		if err != nil {
			return fmt.Errorf("tokenizer self-test: %q: %w", c.Text, err)
		}
		inner := ids[1 : len(ids)-1]
		if ids[0] != t.cls || ids[len(ids)-1] != t.sep || slices.Contains(inner, t.cls) || slices.Contains(inner, t.sep) {
			return fmt.Errorf(
				"tokenizer self-test: %q gives %v, which [CLS] %d and [SEP] %d do not frame", c.Text, ids, t.cls, t.sep,
			)
		}
	}
	return nil
}

// checkCases returns an error for the first text that gets other ids than the reference's. reference is its name.
func (t *Tokenizer) checkCases(cases []selfTestCase, reference string) error {
	for _, c := range cases {
		ids, err := t.Encode(c.Text, 512)
		if err != nil {
			return fmt.Errorf("%q: %w", c.Text, err)
		}
		if !slices.Equal(ids, c.IDs) {
			return fmt.Errorf("%q gives %v, %s gives %v", c.Text, ids, reference, c.IDs)
		}
	}
	return nil
}

// comparePairs returns an error for the first pair of texts of which other numbers of tokens are kept than by the
// reference, whose name is given. Each of pairs has the tokens of both texts, the limit and the tokens that are
// kept of each.
func (t *Tokenizer) comparePairs(pairs [][5]int, reference string) error {
	for _, p := range pairs {
		ids, boundary, err := t.EncodePair(strings.Repeat("a ", p[0]), strings.Repeat("b ", p[1]), p[2])
		if err != nil {
			return err
		}
		if a, b := boundary-2, len(ids)-boundary-1; a != p[3] || b != p[4] {
			return fmt.Errorf(
				"of %d and %d tokens in a pair of at most %d, %d and %d are kept; %s keeps %d and %d", p[0], p[1], p[2],
				a, b, reference, p[3], p[4],
			)
		}
	}
	return nil
}

// readSelfTest returns the strings and ids of the embedded file. It fails if the file is not JSON.
func readSelfTest() (*selfTest, error) {
	var test selfTest
	if err := json.Unmarshal(selfTestFile, &test); err != nil {
		return nil, fmt.Errorf("tokenizer self-test: reading its strings: %w", err)
	}
	return &test, nil
}
