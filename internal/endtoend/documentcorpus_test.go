package endtoend

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
)

// newReader makes the folder: the files that the documents name, and a cache of
// its own over what `conclave setup` fetched.
func newReader(t *testing.T, root string) *reader {
	t.Helper()
	testenv.Base(t, "fp32")
	checkpoint := testenv.Checkpoint(t)
	cache, err := provision.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	built := binary(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, dir: t.TempDir(), address: listener.Addr().String()}
	_ = listener.Close()
	t.Cleanup(r.stop)
	own := filepath.Join(r.dir, "cache")
	testenv.LinkPDFium(t, own)
	// The longest that limits.timeout allows: other tests may have both processors for longer than the usual 2 s.
	r.env = append(environment(), "PATH="+filepath.Join(r.dir, "bin")+":"+os.Getenv("PATH"), "CONCLAVE_CACHE="+own,
		"CONCLAVE_SEARCH_TIMEOUT=10s")
	link := func(from, to string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	link(built, filepath.Join(r.dir, "bin", "conclave"))
	for _, folder := range []string{"passages", "documents"} {
		link(filepath.Join(root, "shipped", "demo", folder), filepath.Join(r.dir, "shipped", "demo", folder))
	}
	lab := exec.CommandContext(
		t.Context(),
		"go",
		"build",
		"-o",
		filepath.Join(r.dir, "bin", "conclave-lab"),
		"example.org/conclave/cmd/conclave-lab",
	)
	if out, err := lab.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	link(checkpoint, filepath.Join(r.dir, "my-bert"))
	for _, folder := range []string{"", "bundles"} {
		entries, err := os.ReadDir(filepath.Join(cache.Root, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if name := e.Name(); name != "bundles" && name != "demo" && name != "LOCK" && name != "pdf" { // it is there
				link(filepath.Join(cache.Root, folder, name), filepath.Join(own, folder, name))
			}
		}
	}
	r.expert(root)
	r.questions(root)
	r.corpus(root)
	return r
}

// questions writes every fourth of the demo's questions: it is tested that commands run
// as they are shown, and not what they measure.
func (r *reader) questions(root string) {
	r.t.Helper()
	for _, name := range []string{
		"dev.jsonl", "test.jsonl", "elsewhere.jsonl", "documents/dev.jsonl", "documents/test.jsonl",
		"documents/conversations/test.jsonl",
	} {
		data, err := os.ReadFile(filepath.Join(root, "shipped", "demo", "questions", name))
		if err != nil {
			r.t.Fatal(err)
		}
		var some strings.Builder
		for i, line := range strings.SplitAfter(string(data), "\n") {
			if i%4 == 0 {
				some.WriteString(line)
			}
		}
		r.write(filepath.Join("shipped", "demo", "questions", name), some.String())
	}
}

// write writes a file into the reader's folder.
func (r *reader) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// expert writes what conclave-train would have: a shipped delta under another name.
func (r *reader) expert(root string) {
	r.t.Helper()
	folder := filepath.Join(r.dir, "experts", "mydomain")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(root, "shipped", "policy"))); err != nil {
		r.t.Fatal(err)
	}
	b, err := models.Load(folder)
	if err != nil {
		r.t.Fatal(err)
	}
	b.Manifest.Name = "mydomain"
	data, err := b.Manifest.Encode()
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, models.ManifestFile), data, 0o644)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// corpus writes passages and questions of two domains of the demo.
func (r *reader) corpus(root string) {
	r.t.Helper()
	read := func(name string) (lines []string) {
		data, err := os.ReadFile(filepath.Join(root, "shipped", "demo", name))
		if err != nil {
			r.t.Fatal(err)
		}
		return strings.SplitAfter(strings.TrimSpace(string(data)), "\n")
	}
	var passages strings.Builder
	ids := map[string]bool{}
	for _, domain := range []string{"tales", "health"} {
		for _, line := range read("passages/" + domain + ".jsonl")[:24] {
			var p struct{ ID string }
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				r.t.Fatal(err)
			}
			ids[p.ID] = true
			passages.WriteString(line)
		}
	}
	r.write("passages.jsonl", passages.String())
	r.write(
		"more.jsonl",
		`{"id":"note/1","title":"Rice","text":"Cooked rice keeps for a day in the fridge."}`+"\n"+`{"id":"note/2","title":"No text"}`+"\n",
	)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write([]byte("id\ttext\ttitle\n1\t\"A lamp needs oil.\"\tLamps\n2\t\"A pond freezes at night.\"\tPonds\n"))
	if err := w.Close(); err != nil {
		r.t.Fatal(err)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.write("more.tsv.gz", zipped.String())
	pdf, err := os.ReadFile(filepath.Join(root, "documents", "testdata", "handbook.pdf"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.write("handbook.pdf", string(pdf))
	r.write("a.pdf", string(pdf))
	docx, err := os.ReadFile(filepath.Join(root, "documents", "testdata", "handbook.docx"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.write("b.docx", string(docx))
	var wiki bytes.Buffer
	packed := zip.NewWriter(&wiki)
	page, err := packed.Create("wiki/tea.md")
	if err == nil {
		_, err = page.Write([]byte("# Tea\n\nGreen tea is brewed below the boiling point.\n"))
	}
	if err := errors.Join(err, packed.Close()); err != nil {
		r.t.Fatal(err)
	}
	r.write("wiki.zip", wiki.String())
	r.write("products.csv", "sku,description,price\nL-1,\"A lamp, with oil\",12.50\nL-2,A wick,1.00\n")
	r.write("wiki/depots.md", "# Depots\n\nThe depot in Leeds opens at six.\n")
	r.write("faq.html", "<title>Questions</title><main><h1>Refunds</h1><p>A refund takes five working days.</p></main>")

	type question struct {
		ID        string
		Question  string
		Positives []string `json:"positive_ids"`
	}
	of := func(file, domain string) (lines []string, all []question) {
		for _, line := range read("questions/" + file) {
			var q question
			if err := json.Unmarshal([]byte(line), &q); err != nil {
				r.t.Fatal(err)
			}
			if strings.HasPrefix(q.ID, domain) && slices.ContainsFunc(q.Positives, func(id string) bool { return ids[id] }) {
				lines, all = append(lines, strings.TrimSpace(line)+"\n"), append(all, q)
			}
		}
		return lines, all
	}
	dev, _ := of("dev.jsonl", "")
	r.write("dev.jsonl", strings.Join(dev, ""))
	faq, _ := of("test.jsonl", "tales")
	r.write("faq.jsonl", strings.Join(faq, ""))
	_, mail := of("test.jsonl", "health")
	var queries, qrels strings.Builder
	qrels.WriteString("query-id\tcorpus-id\tscore\n")
	for _, q := range mail {
		text, err := json.Marshal(map[string]string{"_id": q.ID, "text": q.Question})
		if err != nil {
			r.t.Fatal(err)
		}
		queries.WriteString(string(text) + "\n")
		for _, id := range q.Positives {
			fmt.Fprintf(&qrels, "%s\t%s\t1\n", q.ID, id)
		}
	}
	r.write("mail-beir/queries.jsonl", queries.String())
	r.write("mail-beir/qrels/test.tsv", qrels.String())
	if len(dev) < 20 || len(faq) < 10 || len(mail) < 10 {
		r.t.Fatalf("%d, %d and %d questions are too few", len(dev), len(faq), len(mail))
	}
}
