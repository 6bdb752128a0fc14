package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/internal/doctor"
	"example.org/conclave/models/convert/tiny"
)

// examined runs the doctor and returns its findings by what they are about.
func examined(t *testing.T, args ...string) (code int, found map[string]finding) {
	t.Helper()
	code, out, complaints := conclave(t, append([]string{"doctor", "--collection", "c", "--json"}, args...)...)
	var list []finding
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v: %s%s", err, out, complaints)
	}
	found = map[string]finding{}
	for _, f := range list {
		found[f.What] = f
	}
	return code, found
}

// TestDoctorMends breaks one thing after the other: the doctor says which, and
// where its line is one of conclave's own, that line mends it.
func TestDoctorMends(t *testing.T) {
	file := workplace(t)
	t.Setenv("CONCLAVE_CACHE", t.TempDir()) // else it tries whatever is there
	t.Setenv("PATH", t.TempDir())           // Python takes seconds to say that it is there
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--in", file, "--experts",
		"small"); code != cli.ExitOK {
		t.Fatal(complaints)
	}
	fine := func() {
		t.Helper()
		_, found := examined(t)
		for _, what := range []string{"ONNX Runtime", "bundle small", "collection"} {
			if found[what].Status != "ok" || found[what].Mend != "" {
				t.Errorf("%+v", found[what])
			}
		}
	}
	fine()
	change := func(path string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data[100] ^= 1
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	broken := func(what, says, mend string) {
		t.Helper()
		code, found := examined(t)
		f := found[what]
		if code != cli.ExitFailed || f.Status != "fails" || !strings.Contains(f.Detail, says) ||
			!strings.Contains(f.Mend, mend) {
			t.Errorf("exit code %d, %+v, want %q and %q", code, f, says, mend)
		}
	}

	graph := filepath.Join("c", "seg-000001", "small-2.hnsw")
	change(graph)
	broken("collection", "small-2.hnsw", "conclave index --collection c --remove-expert small, then --add-expert small")
	for _, flag := range []string{"--remove-expert", "--add-expert"} {
		if code, _, complaints := conclave(t, "index", "--collection", "c", flag, "small"); code != cli.ExitOK {
			t.Errorf("%s: %s", flag, complaints)
		}
	}
	fine()

	encoder := filepath.Join("experts", "small", "encoder.onnx")
	change(encoder)
	broken(
		"bundle small",
		"encoder.onnx has changed",
		"conclave models import CHECKPOINT --out "+filepath.Join("experts", "small"),
	)
	change(encoder) // back
	fine()

	words := filepath.Join("c", "seg-000001", "words")
	if err := os.Remove(words); err != nil {
		t.Fatal(err)
	}
	broken("collection", "words is missing", "conclave index --collection c --rebuild-words")
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--rebuild-words"); code != cli.ExitOK {
		t.Error(complaints)
	}
	fine()
	if err := os.Rename(filepath.Join("c", "MANIFEST"), "kept"); err != nil {
		t.Fatal(err)
	}
	broken("collection", "MANIFEST", "conclave index --collection c --in FILE")
	if err := os.Rename("kept", filepath.Join("c", "MANIFEST")); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile("conclave.yaml", []byte("runtime: nowhere.so\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken("ONNX Runtime", "nowhere.so", "leave runtime out and conclave setup")
}

// TestDoctorTellsMemory: a bound that the machine has is fine, one that no machine has
// is told, and one that is too small for an answer fails.
func TestDoctorTellsMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CONCLAVE_CACHE", t.TempDir())
	for _, c := range []struct{ memory, status string }{{"512MiB", "ok"}, {"60000GiB", "note"}, {"1MiB", "fails"}} {
		write(t, "conclave.yaml", "limits: {memory: "+c.memory+"}\n")
		if _, found := examined(t); found["memory"].Status != doctor.Status(c.status) ||
			(found["memory"].Mend == "") != (c.status == "ok") {
			t.Errorf("%s: %+v", c.memory, found["memory"])
		}
	}
}

// TestDoctorTellsGenerators: what an answer takes, by hand for the shape of a T5-base:
// 2·12 layers·768 numbers·4 bytes are 73,728 bytes a token, so 5,000 tokens of passages and
// twice 32 of the answer and 32,128 logits are 373,615,616 bytes.
func TestDoctorTellsGenerators(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CONCLAVE_CACHE", t.TempDir())
	sum := strings.Repeat("0", 64)
	if err := os.MkdirAll(filepath.Join("experts", "writer"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(
		t,
		filepath.Join("experts", "writer", "expert.yaml"),
		"format: 1\nname: writer\nkind: generator\nprecision: fp32\ntokenizer: tokenizer.json\n"+
			"generator: {encoder: encoder.onnx, decoder: decoder.onnx, layers: 12, heads: 12, head_size: 64, vocabulary: 32128, start: 0, passage_tokens: 250, beams: 1}\n"+
			"files: {tokenizer.json: "+sum+", encoder.onnx: "+sum+", decoder.onnx: "+sum+"}\n",
	)
	for _, c := range []struct{ memory, status string }{{"512MiB", "ok"}, {"300MiB", "note"}} {
		write(
			t,
			"conclave.yaml",
			"bundles: experts\nreaders: [writer, nobody]\nlimits: {memory: "+c.memory+", answer_bytes: 1MiB}\n",
		)
		_, found := examined(t)
		f := found["generator writer"]
		if f.Status != doctor.Status(c.status) || (f.Mend == "") != (c.status == "ok") ||
			!strings.Contains(f.Detail, "takes 356 MiB") ||
			!strings.Contains(f.Detail, "the most, 883 MiB") {
			t.Errorf("%s: %+v", c.memory, f)
		}
		if f := found["reader nobody"]; f.Status != doctor.StatusFails {
			t.Errorf("%+v", f)
		}
	}
}

// TestDoctorTellsRerankers: one that is there runs, one that is not there fails, and so does asking for one where none
// is named; one in 8 bits does not run with CUDA.
func TestDoctorTellsRerankers(t *testing.T) {
	workplace(t)
	t.Setenv("PATH", t.TempDir())
	t.Setenv("CONCLAVE_CACHE", t.TempDir())
	text, err := os.ReadFile("conclave.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tiny.Write(filepath.Join("experts", "judge"), tiny.Expert{
		Name: "judge", Reranker: true, Int8: true,
	}); err != nil {
		t.Fatal(err)
	}
	write(t, "conclave.yaml", string(text)+"rerankers: [judge, nobody]\n")
	_, found := examined(t)
	if f := found["bundle judge"]; f.Status != doctor.StatusOK ||
		!containsAll(f.Detail, []string{"a reranker", "int8", "together 64 tokens", "runs on cpu"}) {
		t.Errorf("%+v", f)
	}
	if f := found["bundle nobody"]; f.Status != doctor.StatusFails || f.Mend == "" {
		t.Errorf("%+v", f)
	}
	write(t, "conclave.yaml", string(text)+"rerankers: [judge]\nencoder: {provider: cuda}\n")
	_, found = examined(t)
	if f := found["bundle judge"]; f.Status != doctor.StatusFails || !strings.Contains(f.Detail, "in 8 bits") ||
		!strings.Contains(f.Mend, "judge-fp32") {
		t.Errorf("with cuda: %+v", f)
	}
	write(t, "conclave.yaml", string(text)+"search: {rerank: true}\n")
	_, found = examined(t)
	if f := found["rerankers"]; f.Status != doctor.StatusFails || !strings.Contains(f.Mend, "conclave models import") {
		t.Errorf("none is named: %+v", f)
	}
}
