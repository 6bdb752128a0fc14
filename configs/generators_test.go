package configs

import (
	"strings"
	"testing"
	"time"
)

// TestGenerators: a generator has what writing says where it says nothing, and what is wrong with one
// is told without what may be a key.
func TestGenerators(t *testing.T) {
	c, err := load(t, `
writing: {timeout: 20s, passages: 4}
generators:
  - {name: local, address: "http://127.0.0.1:11434/v1", model: "qwen3:8b"}
  - {name: far, address: "https://models.example/v1", model: large, key_file: /run/key, timeout: 90s, max_tokens: 100}
`, nil)
	if err != nil || len(c.Warnings) > 0 {
		t.Fatalf("%v, %q", err, c.Warnings)
	}
	all := c.CompleteGenerators()
	if all[0].Timeout != 20*time.Second || all[0].Passages != 4 || all[0].MaxTokens != Defaults().Writing.MaxTokens ||
		all[1].Timeout != 90*time.Second || all[1].MaxTokens != 100 || c.LongestWriting() != 90*time.Second {
		t.Errorf("%+v", all)
	}
	c, err = load(t, `generators: [{name: a, address: "http://models.example/v1", model: m, key_file: k}]`, nil)
	if err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "unencrypted") {
		t.Errorf("%v, %q", err, c.Warnings)
	}
	for file, want := range map[string]string{
		`generators: [{name: a, address: "127.0.0.1:11434", model: m}]`:                          "an address of http or https",
		`generators: [{name: a, address: "http://u:sesame@h/v1", model: m}]`:                     "without user",
		`generators: [{name: a, address: "http://h/v1?key=sesame", model: m}]`:                   "without user and query",
		`generators: [{name: a, address: "http://h/v1"}]`:                                        "the name of a model",
		`generators: [{name: auto, address: "http://h/v1", model: m}]`:                           "not auto or conclave",
		`generators: [{address: "http://h/v1", model: m}]`:                                       "letters, digits",
		`generators: [{name: a, address: "http://h/v1", model: m, key: sesame}]`:                 "no such key",
		`{readers: [a], generators: [{name: a, address: "http://h/v1", model: m}]}`:              "name of a reader too",
		`{server: {write_timeout: 60s}, generators: [{name: a, address: "http://h", model: m}]}`: "at least",
		`writing: {unsupported: hide}`:                                                           "mark, drop",
	} {
		if _, err := load(t, file, nil); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", file, err)
		}
	}
}
