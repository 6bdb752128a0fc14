package main

import (
	"slices"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models/convert/tiny"
	"example.org/conclave/shipped"
)

// TestDefaultIsTheGate: an own corpus, indexed without naming experts, is
// searched by base, words, phrases and late interaction under the shipped gate;
// before it is encoded the costs of every choice are told, and afterwards what
// auto is and what would help.
func TestDefaultIsTheGate(t *testing.T) {
	library := testenv.Runtime(t)
	testenv.Base(t, "fp32")
	cache, err := provision.CacheAt("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shipped.Folder(configs.Config{}, cache, shipped.Late); err != nil {
		t.Skip(err)
	}
	t.Chdir(t.TempDir())
	write(t, "conclave.yaml", "runtime: "+library+"\n")
	code, out, complaints := conclave(t, "index", "--collection", "c", "--in", passagesFile(t))
	if code != cli.ExitOK ||
		!containsAll(
			out,
			[]string{
				"auto is gate: base, words, phrases, nearness, late interaction\n",
				"conclave calibrate --collection c",
				"conclave index --collection c --add-expert NAME",
			},
		) {
		t.Errorf("exit code %d, %s", code, out)
	}
	if !containsAll(complaints, []string{"3 passages, about:\n", "--experts none ", "no time",
		"--experts default (chosen)  1 pass ", "--experts all ", "8 passes"}) ||
		strings.Index(complaints, "about:") > strings.Index(complaints, "encoding base and late") {
		t.Errorf("it says %s", complaints)
	}
	var kinds []string
	r := searched(t)
	for _, s := range r.Sources {
		if s.Weight != nil && *s.Weight > 0 {
			kinds = append(kinds, s.Name)
		}
	}
	if r.Fusion != fusion.MethodGate || !slices.Equal(kinds, []string{"base", "bm25", "phrases", "near", "late"}) {
		t.Errorf("%s weighs %v", r.Fusion, kinds)
	}
}

// TestGateIsForUnitVectors: the shipped gate adds raw scores, so it is not for
// experts whose scores have another size.
func TestGateIsForUnitVectors(t *testing.T) {
	library := testenv.Runtime(t)
	for _, raw := range []bool{false, true} {
		t.Chdir(t.TempDir())
		if _, err := tiny.Write("experts/small", tiny.Expert{Name: "small", Seed: 1, RawLength: raw}); err != nil {
			t.Fatal(err)
		}
		write(t, "conclave.yaml", "cache: cache\nruntime: "+library+"\n")
		code, out, complaints := conclave(t, "index", "--collection", "c", "--in", passagesFile(t), "--experts", "small")
		if want := map[bool]string{false: "auto is gate", true: "auto is rrf"}[raw]; code != cli.ExitOK ||
			!strings.Contains(out, want) {
			t.Errorf("raw length %t: exit code %d, %s is wanted in %s%s", raw, code, want, out, complaints)
		}
	}
}
