package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.org/conclave/calibration"
	"example.org/conclave/configs"
	"example.org/conclave/fusion"
	"example.org/conclave/internal/testing/realclients"
	"example.org/conclave/models"
)

// TestInBrowser drives every control of the pages in a real browser, against servers
// that hold passages of the demo: testdata/*.mjs say what is expected of which view. The
// programs that the page offers for copying are then run.
func TestInBrowser(t *testing.T) {
	pinned(t)
	const searcher, owner = "key-of-one-who-searches", "key-of-the-owner"
	visit(t, "open.mjs", nil)
	visit(
		t,
		"keyed.mjs",
		[]configs.Key{key("searcher", searcher, "search"), key("owner", owner, "search", "embed", "ingest", "admin")},
		"SEARCHER="+searcher,
		"OWNER="+owner,
		"CONCLAVE_KEY="+owner,
	)
}

// TestCalibratedInBrowser: the curves of a calibration that was written before the server
// started are those that the page draws.
func TestCalibratedInBrowser(t *testing.T) {
	pinned(t)
	node, _ := realclients.Node(t)
	server := realclients.Server(t, realclients.ServerOptions{Change: func(c *configs.Config) { writeCalibration(t, c) }})
	t.Log(
		realclients.Run(
			t,
			realclients.Command{
				Interpreter: node,
				Args:        []string{filepath.Join("testdata", "calibrated.mjs")},
				Env:         []string{"SERVER=" + server},
			},
		),
	)
}

// writeCalibration puts a calibration with curves into the collection, as conclave
// calibrate would.
func writeCalibration(t *testing.T, c *configs.Config) {
	t.Helper()
	bundle, err := models.Peek(c.Experts[0].Bundle)
	if err != nil {
		t.Fatal(err)
	}
	chance := func(signals []string) (chance calibration.Confidence) {
		chance.K = 1
		chance.Kind = calibration.Platt
		for _, name := range signals {
			chance.Logistic.Signals = append(chance.Logistic.Signals, calibration.Term{Name: name})
		}
		return chance
	}
	record := calibration.Record{
		Auto:      "rrf",
		Alpha:     0.1,
		Written:   time.Now(),
		Signals:   fusion.SignalNames(),
		Chances:   calibration.Chances{chance(fusion.SignalNames())},
		Questions: []calibration.QuestionSet{{Domain: "tales", Questions: 200}},
		Reliability: []calibration.Bin{
			{Questions: 250, Confidence: .04, Accuracy: .02},
			{Questions: 60, Confidence: .36, Accuracy: .4},
			{Questions: 90, Confidence: .93, Accuracy: .89},
		},
		Sources: []calibration.SourceRecord{
			{
				Name:        "base",
				Fingerprint: bundle.Fingerprint(models.Question),
				Kind:        fusion.Generalist,
				Chance:      chance(fusion.SourceSignalNames(fusion.Generalist)),
				Reliability: []calibration.Bin{
					{Questions: 80, Confidence: .12, Accuracy: .2},
					{Questions: 70, Confidence: .55, Accuracy: .5},
					{Questions: 50, Confidence: .97, Accuracy: 1},
				},
			},
		},
	}
	if err := record.Write(c.Collection); err != nil {
		t.Fatal(err)
	}
}

// visit runs a script of testdata against a server with these keys.
func visit(t *testing.T, script string, keys []configs.Key, env ...string) {
	t.Run(script, func(t *testing.T) {
		node, _ := realclients.Node(t)
		server := realclients.Server(
			t,
			realclients.ServerOptions{
				Passages: realclients.Demo(t, "tales", "health"),
				Change:   func(c *configs.Config) { c.Auth.Keys = keys },
			},
		)
		programs := t.TempDir()
		t.Log(realclients.Run(t, realclients.Command{Interpreter: node, Args: []string{filepath.Join("testdata", script)},
			Env: append(env, "SERVER="+server, "PROGRAMS="+programs)}))
		runPrograms(t, programs, env)
	})
}

// runPrograms runs what the page offered for copying: each prints the same ten results.
func runPrograms(t *testing.T, folder string, env []string) {
	t.Helper()
	node, _ := realclients.Node(t)
	printed := map[string]string{}
	for _, c := range []realclients.Command{
		{Interpreter: realclients.Python(t), Args: []string{filepath.Join(folder, "program.py")}},
		{Interpreter: node, Args: []string{filepath.Join(folder, "program.mjs")}},
		{Interpreter: "go", Args: []string{"run", filepath.Join(folder, "program.go")}},
		{Interpreter: "sh", Args: []string{filepath.Join(folder, "curl.sh")}},
	} {
		name := filepath.Base(c.Args[len(c.Args)-1])
		if _, err := exec.LookPath("curl"); err != nil && name == "curl.sh" {
			t.Log("curl is not installed: its line is not tried")
			continue
		}
		path, err := exec.LookPath(c.Interpreter)
		if err != nil {
			t.Fatal(err)
		}
		c.Interpreter, c.Env = path, env
		out := realclients.Run(t, c)
		if name == "curl.sh" {
			out = ranked(t, out)
		}
		printed[out] += " " + name
		if strings.Count(out, "\n") != 10 {
			t.Errorf("%s printed\n%s", name, out)
		}
	}
	if len(printed) != 1 {
		t.Errorf("the programs printed different results: %q", printed)
	}
}

// ranked returns an answer as the programs print it.
func ranked(t *testing.T, answer string) string {
	t.Helper()
	var read struct {
		Results []struct {
			Rank  int
			ID    string
			Score json.Number
		}
	}
	if err := json.Unmarshal([]byte(answer), &read); err != nil {
		t.Fatal(err)
	}
	lines := ""
	for _, r := range read.Results {
		lines += fmt.Sprintln(r.Rank, r.ID, r.Score)
	}
	return lines
}

// pinned skips a test where there is no browser for it.
func pinned(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skipf(
			"SKIPPED: THE PAGES ARE NOT TESTED HERE: there is no pinned browser for %s/%s, only for linux/amd64",
			runtime.GOOS,
			runtime.GOARCH,
		)
	}
}

func key(name, secret string, scopes ...string) configs.Key {
	sum := sha256.Sum256([]byte(secret))
	return configs.Key{Name: name, SHA256: hex.EncodeToString(sum[:]), Scopes: scopes}
}
