// Package framing reads which special tokens a tokenizer.json of Hugging Face tokenizers puts
// around a text and between two, and cuts a pair of texts to a limit.
package framing

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Frame is what stands around texts: START text END, and START first END second END, where Twice
// says that two END stand between the texts (RoBERTa).
type Frame struct {
	Start, End string // Start is "" where there is none (T5)
	Twice      bool
}

// Between returns the number of special tokens around and between the texts of a pair.
func (f Frame) Between() int {
	n := 2
	if f.Start != "" {
		n++
	}
	if f.Twice {
		n++
	}
	return n
}

// step is one of a template's parts.
type step struct {
	Special *struct {
		ID string `json:"id"`
	} `json:"SpecialToken"`
	Sequence *struct {
		ID string `json:"id"`
	} `json:"Sequence"`
}

// Parse returns the frame in the post_processor of a tokenizer.json. It fails if there is none, or it puts anything
// else around texts than BERT's, RoBERTa's or T5's does.
func Parse(data json.RawMessage) (f Frame, err error) {
	var p struct {
		Type           string            `json:"type"`
		Single, Pair   []step            //
		CLS            []json.RawMessage `json:"cls"`
		SEP            []json.RawMessage `json:"sep"`
		PostProcessors []json.RawMessage `json:"processors"`
	}
	if len(data) == 0 || string(data) == "null" {
		return f, errors.New("post_processor is missing: it says which tokens begin and end a text")
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return f, fmt.Errorf("post_processor: %w", err)
	}
	switch p.Type {
	case "Sequence": // ByteLevel before a template changes offsets alone
		for _, one := range p.PostProcessors {
			var kind struct {
				Type string `json:"type"`
			}
			if json.Unmarshal(one, &kind) == nil && kind.Type != "ByteLevel" {
				return Parse(one)
			}
		}
	case "RobertaProcessing", "BertProcessing":
		if len(p.CLS) == 2 && len(p.SEP) == 2 {
			err = errors.Join(json.Unmarshal(p.CLS[0], &f.Start), json.Unmarshal(p.SEP[0], &f.End))
			f.Twice = p.Type == "RobertaProcessing"
			return f, err
		}
	case "TemplateProcessing":
		if f, ok := frameOfTemplate(p.Single, p.Pair); ok {
			return f, nil
		}
	}
	return f, fmt.Errorf("post_processor is a %s that is not supported: BERT's, RoBERTa's and T5's are", p.Type)
}

// frameOfTemplate returns the frame that the templates of a TemplateProcessing make; false if they make no Frame.
func frameOfTemplate(single, pair []step) (f Frame, ok bool) {
	tokens := func(steps []step) (out []string) { // "" for a text
		for _, s := range steps {
			switch {
			case s.Special != nil:
				out = append(out, s.Special.ID)
			case s.Sequence != nil:
				out = append(out, "")
			}
		}
		return out
	}
	one, two := tokens(single), tokens(pair)
	if len(one) == 3 && one[0] != "" && one[1] == "" {
		f.Start = one[0]
		one = one[1:]
	}
	if len(one) != 2 || one[0] != "" || one[1] == "" {
		return f, false
	}
	f.End = one[1]
	if f.Start != "" && len(two) > 0 && two[0] == f.Start {
		two = two[1:]
	}
	f.Twice = len(two) == 5
	wanted := []string{"", f.End, "", f.End}
	if f.Twice {
		wanted = []string{"", f.End, f.End, "", f.End}
	}
	for i, token := range wanted {
		if len(two) != len(wanted) || two[i] != token {
			return f, false
		}
	}
	return f, true
}

// LongestFirst returns how many tokens are kept of two texts of a and b tokens, together at most room: the longer
// text is cut until both are equally long, then both; of an odd room the longer text gets one more, of equal texts
// the second.
func LongestFirst(a, b, room int) (keepA, keepB int) {
	if a+b <= room {
		return a, b
	}
	short := min(a, b)
	long := room - short
	if long < short {
		short = room / 2
		long = room - short
	}
	if a > b {
		return long, short
	}
	return short, long
}
