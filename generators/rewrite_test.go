package generators

import "testing"

// TestCheckRewritten: a question that stands alone says the last message with words of the conversation. An
// answer, and an earlier message again, do not.
func TestCheckRewritten(t *testing.T) {
	before := []string{"What is the first stage of photosynthesis?", "How many hearts does an octopus have?"}
	for _, c := range []struct {
		last, made string
		right      bool
	}{
		{"and the second?", "What is the second stage of photosynthesis?", true},
		{"Why is its blood blue?", "Why is the blood of an octopus blue?", true},
		{"Why is its blood blue?", "Why is its blood blue?", true},
		{"Why is its blood blue?", "The blood of an octopus is blue since hemocyanin carries oxygen through its body.", false},
		{"Why is its blood blue?", "How many hearts does an octopus have?", false},
		{"and the second?", "The process converts light energy into chemical energy in the chloroplasts of plant cells.", false},
		{"und wo?", "Wo?", true},
	} {
		if err := checkRewritten(c.made, before, c.last); (err == nil) != c.right {
			t.Errorf("%q for %q: %v", c.made, c.last, err)
		}
	}
}
