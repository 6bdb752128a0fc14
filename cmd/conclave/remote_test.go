package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
		{nil, nil, exitFailed},
		{[]string{"CONCLAVE_KEY=right"}, nil, exitOK},
		{[]string{"CONCLAVE_KEY=wrong"}, nil, exitFailed},
		{[]string{"CONCLAVE_KEY=wrong"}, []string{"--key", "right"}, exitOK},
		{[]string{"CONCLAVE_KEY="}, nil, exitFailed},
	} {
		var out, complaints bytes.Buffer
		args := append([]string{"search", "--url", server.URL, "question"}, c.flags...)
		code := run(t.Context(), args, terminal{In: strings.NewReader(""), Out: &out, Err: &complaints, Environ: c.environ})
		if code != c.code {
			t.Errorf("%v %v: exit code %d, want %d: %s%s", c.environ, c.flags, code, c.code, out.String(), complaints.String())
		}
		if code == exitFailed && (!strings.Contains(complaints.String(), "CONCLAVE_KEY") || !strings.Contains(complaints.String(), "not known here")) {
			t.Errorf("%v %v: it says %s", c.environ, c.flags, complaints.String())
		}
		if strings.Contains(complaints.String(), "warning") || strings.Contains(complaints.String(), "wrong") {
			t.Errorf("%v %v: it says %s", c.environ, c.flags, complaints.String())
		}
	}
}

func TestSearchFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for flags, says := range map[string]string{
		"-k 0": "--k is 0", "-k -1": "--k is -1", "--candidates 0": "--candidates is 0", "--timeout-ms -5": "--timeout-ms is -5",
		"--key secret": "--url", "-k ten": "ten",
	} {
		code, _, complaints := conclave(t, append([]string{"search", "question"}, strings.Fields(flags)...)...)
		if code != exitUsage || !strings.Contains(complaints, says) {
			t.Errorf("%s: exit code %d, %s", flags, code, complaints)
		}
	}
}
