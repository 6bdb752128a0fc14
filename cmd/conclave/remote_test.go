package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
)

// TestKeyOfTheEnvironment: a key need not stand on the command line, where
// everybody on the machine can read it; one that stands there wins.
func TestKeyOfTheEnvironment(t *testing.T) {
	t.Chdir(t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer right" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"detail":"This key is not known here."}`)
			return
		}
		_, _ = io.WriteString(w, `{"fusion":"rrf","results":[],"sources":[]}`)
	}))
	defer server.Close()
	for _, c := range []struct {
		environ, flags []string
		code           int
	}{
		{nil, nil, cli.ExitFailed},
		{[]string{"CONCLAVE_KEY=right"}, nil, cli.ExitOK},
		{[]string{"CONCLAVE_KEY=wrong"}, nil, cli.ExitFailed},
		{[]string{"CONCLAVE_KEY=wrong"}, []string{"--key", "right"}, cli.ExitOK},
		{[]string{"CONCLAVE_KEY="}, nil, cli.ExitFailed},
	} {
		var out, complaints bytes.Buffer
		args := append([]string{"search", "--url", server.URL, "question"}, c.flags...)
		code := run(
			t.Context(), args, cli.Terminal{In: strings.NewReader(""), Out: &out, Err: &complaints, Environ: c.environ},
		)
		if code != c.code {
			t.Errorf("%v %v: exit code %d, want %d: %s%s", c.environ, c.flags, code, c.code, out.String(), complaints.String())
		}
		if code == cli.ExitFailed &&
			(!strings.Contains(complaints.String(), "CONCLAVE_KEY") ||
				!strings.Contains(complaints.String(), "not known here")) {
			t.Errorf("%v %v: it says %s", c.environ, c.flags, complaints.String())
		}
		if strings.Contains(complaints.String(), "warning") || strings.Contains(complaints.String(), "wrong") {
			t.Errorf("%v %v: it says %s", c.environ, c.flags, complaints.String())
		}
	}
}

// TestSearchAsksForAnswers: a server is asked for answers, and what it marks is shown; one
// that is sure of none is believed.
func TestSearchAsksForAnswers(t *testing.T) {
	t.Chdir(t.TempDir())
	const found = `{"fusion":"gate","results":[{"rank":1,"id":"p1","text":"You have your money after 14 days."}],"sources":[],`
	answers := `"answers":[{"text":"14 days","passage":"p1","start":26,"end":33,"score":0.6,"chance":0.72}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked["answer"] != true {
			t.Errorf("%v: it was asked %v", err, asked)
		}
		_, _ = io.WriteString(w, found+answers)
	}))
	defer server.Close()
	search := func(more ...string) string {
		t.Helper()
		code, out, complaints := conclave(
			t,
			append([]string{"search", "--url", server.URL, "--answer", "how long do refunds take"}, more...)...)
		if code != cli.ExitOK {
			t.Fatal(complaints)
		}
		return out
	}
	if out := search(); !strings.HasPrefix(
		out, "answer, chance 0.72, bytes 26 to 33 of p1:\n      You have your money after [14 days].\n\ngate",
	) {
		t.Error(out)
	}
	if one := parsed(t, search("--json"))["answers"].([]any)[0].(map[string]any); one["text"] != "14 days" ||
		one["start"] != 26.0 ||
		one["chance"] != .72 {
		t.Error(one)
	}
	answers = `"answers":[]}`
	if out := search(); !strings.HasPrefix(out, "answer: no words that the reader marked are sure enough\n\ngate") {
		t.Error(out)
	}
	answers = `"generated":{"text":"After two weeks.","generated":true,"reader":"writer","support":[]}}`
	if out := search(); !strings.HasPrefix(out, "answer, written by the model writer:\n      After two weeks.\n\ngate") {
		t.Error(out)
	}
}

func TestSearchFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for flags, says := range map[string]string{
		"-k 0": "--k is 0", "-k -1": "--k is -1", "--candidates 0": "--candidates is 0", "--timeout-ms -5": "--timeout-ms is -5",
		"--key secret": "--url", "-k ten": "ten",
	} {
		code, _, complaints := conclave(t, append([]string{"search", "question"}, strings.Fields(flags)...)...)
		if code != cli.ExitUsage || !strings.Contains(complaints, says) {
			t.Errorf("%s: exit code %d, %s", flags, code, complaints)
		}
	}
}

// TestSyncServedFlags: what a server decides is not said to it, and passages go another way.
func TestSyncServedFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for flags, says := range map[string]string{
		"--url http://127.0.0.1:9":                             "--sync",
		"--url http://127.0.0.1:9 --sync --experts base":       "the server decides",
		"--url http://127.0.0.1:9 --sync --collection c":       "exclude each other",
		"--url http://127.0.0.1:9 --sync --documents-words 50": "the server decides",
		"--url 127.0.0.1:9 --sync":                             "http://",
		"--key secret --sync":                                  "--url",
	} {
		code, _, complaints := conclave(t, append([]string{"index", "--in", "."}, strings.Fields(flags)...)...)
		if code != cli.ExitUsage || !strings.Contains(complaints, says) {
			t.Errorf("%s: exit code %d, %s", flags, code, complaints)
		}
	}
}
