package endtoend

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/conclave/internal/provision"
	"example.org/conclave/internal/testing/testenv"
	"example.org/conclave/models"
)

// programs begin the lines of documents that are commands.
var programs = regexp.MustCompile(
	`^((?:bin/)?conclave(?:-lab)?|conclave-train|curl|make|pip|python3?|go|docker|[A-Z]+=\S+ \S+)\b `,
)

// notRun are the commands that this test does not run, with the reason.
var notRun = []struct {
	command *regexp.Regexp
	why     string
}{
	{
		regexp.MustCompile(`^make `),
		"builds, tests or measures all of it; make test runs this test, and what make demo serves is served here",
	},
	{
		regexp.MustCompile(`^(pip|conclave-train) `),
		"needs PyTorch, and minutes: training/check installs it and trains small experts",
	},
	{regexp.MustCompile(`^(python3?|go|[A-Z]+=\S+) `), "a benchmark beside its peer: make bench runs it"},
	{
		regexp.MustCompile(`^(bin/)?conclave-lab bench `),
		"measures on vectors that lie in ../shared, or on the union of eight domains",
	},
	{
		regexp.MustCompile(`^conclave models import ./dpr-question `),
		"needs the two encoders of DPR, 880 MB; the tests of models import small ones",
	},
	{
		regexp.MustCompile(`^conclave models import ./(bge-small-en|e5-small) `),
		"needs that model; the tests of models import tiny ones with prefixes",
	},
	{
		regexp.MustCompile(`^conclave models import ./my-fid `),
		"needs a trained T5, which no package has; TestGeneratedAnswers imports and asks a tiny one",
	},
	{regexp.MustCompile(`(?s)^curl .*"reader": "writer"`), "needs that T5, too"},
	{
		regexp.MustCompile(`^conclave models import (FOLDER|./ms-marco-MiniLM-L6-v2) `),
		"needs that model, which no package has; TestImportByName imports tiny ones of each kind",
	},
	{regexp.MustCompile(`(?s)^curl .*"model": "marco"`), "needs that model, too; TestRerankers asks a tiny one"},
	{regexp.MustCompile(`^conclave evaluate .*rerank=marco`), "needs that model, too"},
	{
		regexp.MustCompile(
			`^conclave(-lab ablate --collection gate-out/| (calibrate (prior|reader|verdict)|(calibrate|evaluate) --collection evaluation-out/))`,
		),
		"fits what is shipped, on collections of nine domains and more: most of an hour",
	},
	{
		regexp.MustCompile(
			`^conclave(-lab pools| evaluate answers| (index|evaluate|calibrate) --collection (policy|union|small|pool|C)| serve --collection (many-out/\S*|demo-many)) `,
		),
		"measures on domains that lie in ../shared",
	},
	{
		regexp.MustCompile(`^docker compose --profile cluster `),
		"needs containers, and three nodes of OpenSearch; TestStore runs conclave before three nodes",
	},
	{regexp.MustCompile(`(?s)^curl .*https://node1:9200/`), "needs a cluster; TestBackup does it on three nodes"},
	{regexp.MustCompile(`^conclave \w+ .*opensearch\+https?://`), "needs a cluster; TestStore runs them on three nodes"},
	{
		regexp.MustCompile(`^conclave (models import experts/(mydomain|policy-found) --int8|index --collection c --add-expert) `),
		"takes minutes, or an expert that was trained before; the lines of your-experts.md for it are run",
	},
}

// shown is a command of a document.
type shown struct {
	line string // file:number
	text string
	// output is what the document shows below it.
	output string
}

// commandsOf returns the commands in the indented blocks of a document.
func commandsOf(t *testing.T, path string) (all []shown) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for i := 0; i < len(lines); i++ {
		text, indented := strings.CutPrefix(lines[i], "    ")
		text = strings.TrimPrefix(text, "$ ")
		if !indented || !programs.MatchString(text+" ") {
			if indented && len(all) > 0 {
				all[len(all)-1].output += text + "\n"
			}
			continue
		}
		at := fmt.Sprintf("%s:%d", filepath.Base(path), i+1)
		for strings.HasSuffix(text, `\`) || strings.Count(text, "'")%2 == 1 {
			i++
			text += "\n" + strings.TrimPrefix(lines[i], "    ")
		}
		all = append(all, shown{line: at, text: text})
	}
	return all
}

// reader is somebody who follows the documents in a folder of their own.
type reader struct {
	t       *testing.T
	dir     string
	address string
	env     []string
	server  *exec.Cmd
	log     *testenv.Buffer
}

// run runs a command as shown, but for the port.
func (r *reader) run(c shown) {
	r.t.Helper()
	began := time.Now()
	text := strings.ReplaceAll(c.text, "127.0.0.1:8080", r.address)
	if strings.HasPrefix(text, "conclave serve ") {
		r.serve(text)
		return
	}
	if strings.HasPrefix(text, "conclave index ") && !strings.Contains(text, " --url ") {
		r.stop() // one process writes
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 5*time.Minute)
	defer cancel()
	curl := strings.HasPrefix(text, "curl ")
	if curl {
		text = "curl -w '%{stderr}STATUS %{http_code}' " + strings.TrimPrefix(text, "curl ")
	}
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", text)
	var out, complaints bytes.Buffer
	cmd.Dir = r.dir
	cmd.Env = r.env
	cmd.Stdout = &out
	cmd.Stderr = &complaints
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("%s: %s: %v\n%s%s", c.line, text, err, out.String(), complaints.String())
	}
	if curl {
		refused := strings.Contains(c.output, `"status":4`) && !strings.Contains(c.output, `"line":`)
		if status := complaints.String(); strings.Contains(status, "STATUS 2") == refused {
			r.t.Errorf("%s: %s: %s, shown is %s\n%s", c.line, text, status, c.output, out.String())
		}
	}
	if strings.Contains(text, "/v1/admin/experts") {
		r.jobEnds()
	}
	r.t.Logf("%s: %.1f s: %s", c.line, time.Since(began).Seconds(), strings.Join(strings.Fields(c.text), " "))
}

// serve starts a server and waits until it is ready.
func (r *reader) serve(text string) {
	r.t.Helper()
	r.stop() // one process writes
	r.log = &testenv.Buffer{}
	r.server = exec.Command("bash", "-c", "exec "+text+" --listen "+r.address)
	r.server.Dir, r.server.Env, r.server.Stdout, r.server.Stderr = r.dir, r.env, r.log, r.log
	if err := r.server.Start(); err != nil {
		r.t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		check := exec.Command("conclave", "healthcheck", "--url", "http://"+r.address)
		check.Path = filepath.Join(r.dir, "bin", "conclave")
		check.Err = nil
		check.Env = r.env
		if check.Run() == nil {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: not ready:\n%s", text, r.log.String())
		}
	}
}

// stop ends the server there is.
func (r *reader) stop() {
	if r.server == nil {
		return
	}
	_ = r.server.Process.Signal(syscall.SIGTERM)
	if err := r.server.Wait(); err != nil {
		r.t.Errorf("the server ended with %v:\n%s", err, r.log.String())
	}
	r.server = nil
}

// jobEnds waits for the job that was asked for.
func (r *reader) jobEnds() {
	r.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out, err := exec.Command("curl", "-s", "http://"+r.address+"/v1/jobs/1").Output()
		if err != nil || strings.Contains(string(out), `"failed"`) || time.Now().After(deadline) {
			r.t.Fatalf("job 1: %s, %v", out, err)
		}
		if strings.Contains(string(out), `"done"`) {
			return
		}
	}
}

// TestDocumentedCommands runs the commands that README.md and the guide show, in the
// order in which the guide is read, but for those that measure the demo, which
// come first, so that what they index is served for the demo's questions. A command
// that stands in two places is run once, but for serving. Each exits as shown.
func TestDocumentedCommands(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile(filepath.Join(root, "docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	documents := []string{filepath.Join(root, "README.md")}
	for _, page := range regexp.MustCompile(`\]\(([\w/-]+\.md)\)`).FindAllSubmatch(guide, -1) {
		documents = append(documents, filepath.Join(root, "docs", string(page[1])))
	}
	var commands []shown
	excepted := make([]int, len(notRun))
	for _, path := range documents {
		for _, c := range commandsOf(t, path) {
			if slices.ContainsFunc(
				commands,
				func(before shown) bool { return before.text == c.text && !strings.HasPrefix(c.text, "conclave serve ") },
			) {
				continue
			}
			at := slices.IndexFunc(notRun, func(x struct {
				command *regexp.Regexp
				why     string
			}) bool {
				return x.command.MatchString(c.text + " ")
			})
			if at >= 0 {
				excepted[at]++
				continue
			}
			commands = append(commands, c)
		}
	}
	for i, n := range excepted {
		if n == 0 {
			t.Errorf("nothing is shown that matches the exception %s", notRun[i].command)
		}
	}
	if len(commands) < 15 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	r := newReader(t, root)
	curl := func(c shown) bool { return strings.HasPrefix(c.text, "curl ") }
	measuring := func(c shown) bool {
		return strings.Contains(c.text, "demo-documents") && !curl(c) || c.text == "conclave setup"
	}
	demo := func(c shown) bool {
		asked := func(about string) bool { return strings.Contains(c.text, about) }
		return curl(c) && (asked("fox") || asked("nosebleed") || asked("refunds"))
	}
	makes := func(c shown) bool { return c.text == "conclave setup" || strings.HasPrefix(c.text, "conclave index ") }
	for _, first := range []bool{true, false} {
		for _, c := range commands {
			if measuring(c) && makes(c) == first {
				r.run(c)
			}
		}
	}
	r.serve("conclave serve --collection demo-documents")
	for _, c := range commands {
		if demo(c) {
			r.run(c)
		}
	}
	r.stop()
	for _, c := range commands {
		if !measuring(c) && !demo(c) {
			r.run(c)
		}
	}
	r.stop()
}

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
	r.env = append(environment(), "PATH="+filepath.Join(r.dir, "bin")+":"+os.Getenv("PATH"), "CONCLAVE_CACHE="+own)
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
			if name := e.Name(); name != "bundles" && name != "demo" && name != "LOCK" {
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
