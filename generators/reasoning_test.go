package generators

import (
	"slices"
	"strings"
	"testing"
)

// TestReasoningIsCut: whatever marks a model sets its reasoning apart by, and whatever pieces it comes in, only the
// answer is returned.
func TestReasoningIsCut(t *testing.T) {
	for text, want := range map[string]string{
		"<think>\nPassage [2] says so. NOT ANSWERED?\n</think>\n\nIt is deep [1].":                                                "\n\nIt is deep [1].",
		"We look at [2].\n</think>\nIt is deep [1].":                                                                              "\nIt is deep [1].",
		"<|channel|>analysis<|message|>Look at [2].<|end|><|start|>assistant<|channel|>final<|message|>It is deep [1].<|return|>": "It is deep [1].",
		"<|channel|>commentary to=x<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Deep.":                       "Deep.",
		"analysisThe user asks for [2].assistantfinalIt is deep [1].":                                                             "It is deep [1].",
		"analysis of the water is in [1].":                                                                                        "analysis of the water is in [1].",
		"[THINK]so [2][/THINK]It is deep [1].":                                                                                    "It is deep [1].",
		"<|START_THINKING|>so<|END_THINKING|>It is deep [1].":                                                                     "It is deep [1].",
		"◁think▷so◁/think▷It is deep [1].":                                                                                        "It is deep [1].",
		"It is <think>is it?</think>deep [1].":                                                                                    "It is deep [1].",
		"<think>I do not get any further":                                                                                         "",
		"I think so [1]. At <4 m it is [2], a<b.":                                                                                 "I think so [1]. At <4 m it is [2], a<b.",
		"<thinking>a</thinking>One.<thinking>b</thinking> Two.":                                                                   "One. Two.",
		"An":    "An",
		"":      "",
		"[1] <": "[1] <",
	} {
		for size := 1; size <= len(text)+1; size++ {
			for _, held := range []bool{false, true} {
				// A mark at the end of reasoning alone is only cut in an answer that is held.
				if bare := strings.Contains(text, "</think>") && !strings.Contains(text, "<think>"); bare && !held {
					continue
				}
				f := reasoningFilter{waits: held}
				var got strings.Builder
				for piece := range slices.Chunk([]rune(text), size) {
					got.WriteString(f.filterPiece(string(piece), false))
				}
				got.WriteString(f.filterPiece("", true))
				if got.String() != want {
					t.Errorf("%q in pieces of %d (held: %v): %q, want %q", text, size, held, got.String(), want)
				}
			}
		}
	}
}
