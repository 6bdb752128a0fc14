package endtoend

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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
		regexp.MustCompile(`^conclave setup --provider cuda `),
		"fetches 1.4 GB; TestCUDAIsPinned looks at what it would fetch",
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
		regexp.MustCompile(`^conclave (models import ./(splade-cocondenser|neural-sparse-doc) |index .*--add-expert splade )`),
		"needs that model, which no package has; TestSparseExpert imports a tiny one and searches by it",
	},
	{
		regexp.MustCompile(`^conclave models import ./my-fid `),
		"needs a trained T5, which no package has; TestGeneratedAnswers imports and asks a tiny one",
	},
	{regexp.MustCompile(`(?s)^curl .*"reader": "writer"`), "needs that T5, too"},
	{regexp.MustCompile(`(?s)^curl .*"reader": "local"`), "needs a model's server"},
	{
		regexp.MustCompile(`^conclave models import (FOLDER|./ms-marco-MiniLM-L6-v2) `),
		"needs that model, which no package has; TestImportByName imports tiny ones of each kind",
	},
	{regexp.MustCompile(`(?s)^curl .*"model": "marco"`), "needs that model, too; TestRerankers asks a tiny one"},
	{regexp.MustCompile(`^conclave evaluate .*rerank=marco`), "needs that model, too"},
	{
		regexp.MustCompile(
			`^conclave(-lab ablate --collection gate-out/| evaluate --collection gate-out/| (calibrate (prior|reader|verdict)|(calibrate|evaluate) --collection evaluation-out/))`,
		),
		"fits what is shipped, on collections of nine domains and more: most of an hour",
	},
	{
		regexp.MustCompile(
			`^conclave(-lab pools| evaluate answers| (index|evaluate|calibrate) --collection (policy|union|small|pool|cacm|C)| serve --collection (many-out/\S*|demo-many)) `,
		),
		"measures on domains that lie in ../shared",
	},
	{
		regexp.MustCompile(`(?s)^(conclave serve --data|curl .*/v1/collections)`),
		"needs a server of several collections; TestSeveral of internal/server asks one",
	},
	{
		regexp.MustCompile(`^docker compose --profile cluster `),
		"needs containers, and three nodes of OpenSearch; TestClusterStore runs conclave before three nodes",
	},
	{regexp.MustCompile(`(?s)^curl .*https://node1:9200/`), "needs a cluster; TestBackup does it on three nodes"},
	{
		regexp.MustCompile(`^conclave calibrate --collection demo `),
		"a reader reads for minutes; the command is run on a small collection, and TestCalibrateCounts looks at what it prints",
	},
	{regexp.MustCompile(`^conclave \w+ .*opensearch\+https?://`), "needs a cluster; TestClusterStore runs them on three nodes"},
	{
		regexp.MustCompile(`^conclave (models import (experts/(mydomain|policy-found) --int8|left/policy)|index --collection c --add-expert) `),
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

// TestDocumentedCommands runs the commands that README.md and the guide show, in the
// order in which the guide is read, but for those that measure the demo, which
// come first, so that what they index is served for the demo's questions. A command
// that stands in two places is run once, but for serving. Each exits as shown.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
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
		return strings.Contains(c.text, "--collection demo ") && !curl(c) || c.text == "conclave setup"
	}
	demo := func(c shown) bool {
		asked := func(about string) bool { return strings.Contains(c.text, about) }
		return curl(c) && (asked("fox") || asked("nosebleed") || asked("refunds") || asked("suggest"))
	}
	makes := func(c shown) bool { return c.text == "conclave setup" || strings.HasPrefix(c.text, "conclave index ") }
	for _, first := range []bool{true, false} {
		for _, c := range commands {
			if measuring(c) && makes(c) == first {
				r.run(c)
			}
		}
	}
	r.serve("conclave serve --collection demo")
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
