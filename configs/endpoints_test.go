package configs

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestEndpoints reads experts and rerankers behind interfaces, by name alone and with keys, and prints them back.
func TestEndpoints(t *testing.T) {
	text := `
experts:
  - name: base
  - {name: hosted, address: "https://api.example.org/v1", model: m, key_variable: HOSTED_KEY, dimension: 256,
     question: {prefix: "query: "}, passage: {input_type: passage}, price: 0.02}
rerankers: [judge, {name: hosted, address: "https://api.example.org/v2", model: r}]
`
	cfg, err := load(t, text, []string{"HOSTED_KEY= secret\n"})
	if err != nil {
		t.Fatal(err)
	}
	x, ok := cfg.Endpoint("hosted")
	if !ok || x.Key != "secret" || x.Question.Prefix != "query: " || x.Passage.InputType != "passage" ||
		x.Dimension != 256 || x.Interface != "openai" || x.Batch != 64 || x.Timeout != 30*time.Second {
		t.Errorf("%+v", x)
	}
	if _, ok := cfg.Endpoint("base"); ok {
		t.Error("a bundle is taken for a model behind an interface")
	}
	if want := []Expert{{Name: "base"}}; !reflect.DeepEqual(cfg.Bundled(), want) {
		t.Errorf("bundles: %+v", cfg.Bundled())
	}
	for name, want := range map[string]bool{"base": true, "hosted": true, "hosted@3": true, "late": false} {
		if cfg.Searches(name) != want {
			t.Errorf("%s is searched: %v", name, !want)
		}
	}
	if r := cfg.CompleteRerankers(); len(r) != 2 || r[0] != (Reranker{Name: "judge"}) || r[1].Interface != "cohere" {
		t.Errorf("%+v", r)
	}
	printed, err := cfg.YAML()
	if err != nil || strings.Contains(string(printed), "secret") {
		t.Fatalf("%v: %s", err, printed)
	}
	again, err := load(t, string(printed), []string{"HOSTED_KEY=secret"})
	if err != nil {
		t.Fatal(err)
	}
	again.File = cfg.File
	if !reflect.DeepEqual(again, cfg) {
		t.Errorf("got  %+v\nwant %+v", again, cfg)
	}
	cfg, err = load(t, "", []string{"CONCLAVE_RERANKERS=a, b"})
	if err != nil || len(cfg.Rerankers) != 2 || cfg.Rerankers[1].Name != "b" {
		t.Errorf("%v: %+v", err, cfg.Rerankers)
	}
}

// TestEndpointMistakes has keys that contradict each other.
func TestEndpointMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`experts: [{name: a, model: m}]`:                                                        "no address",
		`experts: [{name: a, address: "http://h/v1"}]`:                                          "name of the model",
		`experts: [{name: a, address: "http://h", interface: tei, threads: 2}]`:                 "leave out bundle",
		`experts: [{name: a, address: "http://u:secret@h/v1", model: m}]`:                       "address of http or https",
		`experts: [{name: a, address: "http://h/v1", model: m, key_file: f, key_variable: V}]`:  "leave one of them out",
		`experts: [{name: a, address: "http://h/v1", model: m, key_variable: "a b"}]`:           "name of a variable",
		`experts: [{name: a, address: "http://h/v1", model: m, dimension: 5000}]`:               "from 0 to 4096",
		`experts: [{name: a, address: "http://h/v1", model: m, cut_to: 9, normalise: "false"}]`: "contradicts cut_to",
		`experts: [{name: a, address: "http://h/v1", model: m, languages: [english]}]`:          "language by two letters",
		`rerankers: [{name: a, model: m}]`:                                                      "no address",
		`rerankers: [a, a]`:                                                                     "is the same as",
		`rerankers: [[a]]`:                                                                      "key",
	} {
		_, err := load(t, text, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
