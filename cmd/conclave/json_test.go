package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/cmd/internal/cli"
)

// parsed reads one JSON object, and nothing else, of what a command printed.
func parsed(t *testing.T, out string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(out), &object); err != nil {
		t.Fatalf("not JSON: %v: %q", err, out)
	}
	return object
}

func TestVerifyForPrograms(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, _, complaints := conclave(t, "index", "--collection", "c", "--in", passagesFile(t), "--experts",
		"none"); code != cli.ExitOK {
		t.Fatal(complaints)
	}
	code, out, complaints := conclave(t, "verify", "--collection", "c", "--json")
	found := parsed(t, out)
	if code != cli.ExitOK || found["ok"] != true || found["passages"] != 3.0 || found["segments"] != 1.0 ||
		found["generation"] != 1.0 ||
		found["bytes"].(float64) == 0 {
		t.Errorf("exit code %d, %s%s", code, out, complaints)
	}

	// A kept file is compared with the SHA-256 in its name.
	kept := filepath.Join("c", "originals", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") // of "abc"
	if err := os.Mkdir(filepath.Dir(kept), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, fine := range map[string]bool{"abc": true, "abd": false} {
		if err := os.WriteFile(kept, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		code, out, _ := conclave(t, "verify", "--collection", "c", "--json")
		found := parsed(t, out)
		said, _ := found["error"].(string)
		if found["ok"] != fine || found["originals"] != 1.0 || (code == cli.ExitOK) != fine ||
			strings.Contains(said, filepath.Base(kept)) == fine {
			t.Errorf("with a kept file %q: exit code %d, %s", text, code, out)
		}
	}
	if err := os.RemoveAll(filepath.Dir(kept)); err != nil {
		t.Fatal(err)
	}

	files, err := filepath.Glob(filepath.Join("c", "seg-*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	damaged := files[0]
	data, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(damaged, data, 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, _ = conclave(t, "verify", "--collection", "c", "--json")
	if found := parsed(t, out); code != cli.ExitFailed || found["ok"] != false ||
		!strings.Contains(found["error"].(string), filepath.Base(damaged)) {
		t.Errorf("with a damaged %s: exit code %d, %s", damaged, code, out)
	}
	code, out, _ = conclave(t, "verify", "--collection", "missing", "--json")
	if found := parsed(t, out); code != cli.ExitFailed || found["ok"] != false ||
		!strings.Contains(found["error"].(string), "missing") {
		t.Errorf("without a collection: exit code %d, %s", code, out)
	}
}

func TestHealthcheckForPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		code   int
		ready  bool
		says   string // in the text form
	}{
		"ready":    {200, `{"status":"ready","components":[{"name":"collection","status":"ready"}]}`, cli.ExitOK, true, ""},
		"starting": {503, `{"code":"not_ready","detail":"Models and index are still being loaded."}`, cli.ExitFailed, false, "still being loaded"},
		"another":  {200, `<html>hello</html>`, cli.ExitFailed, false, "another server"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/readyz" {
					t.Errorf("asked for %s", r.URL.Path)
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer server.Close()
			code, out, _ := conclave(t, "healthcheck", "--url", server.URL+"/", "--json")
			found := parsed(t, out)
			if code != c.code || found["ready"] != c.ready || found["url"] != server.URL ||
				found["status"] != float64(c.status) {
				t.Errorf("exit code %d, %s", code, out)
			}
			if answer, err := json.Marshal(found["answer"]); name != "another" &&
				(err != nil || !sameJSON(t, string(answer), c.body)) {
				t.Errorf("the answer is not passed on: %s", out)
			}
			code, out, complaints := conclave(t, "healthcheck", "--url", server.URL)
			if code != c.code || c.ready != (out == "ready\n") || !strings.Contains(complaints, c.says) {
				t.Errorf("exit code %d, %s%s", code, out, complaints)
			}
		})
	}
	code, out, _ := conclave(t, "healthcheck", "--url", "http://127.0.0.1:1", "--json")
	if found := parsed(t, out); code != cli.ExitFailed || found["ready"] != false ||
		!strings.Contains(found["error"].(string), "127.0.0.1:1") {
		t.Errorf("without a server: exit code %d, %s", code, out)
	}
	for _, args := range [][]string{{"--url", "localhost:8080"}, {"--url", ""}, {"--url", "http://"},
		{"--timeout", "0s"}} {
		if code, _, complaints := conclave(t, append([]string{"healthcheck"}, args...)...); code != cli.ExitUsage ||
			!strings.Contains(complaints, args[0]) {
			t.Errorf("healthcheck %q: exit code %d, %s", args, code, complaints)
		}
	}
}

// sameJSON reports whether two texts are the same JSON object, regardless of white space and the order of keys.
func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	x, _ := json.Marshal(parsed(t, a))
	y, _ := json.Marshal(parsed(t, b))
	return string(x) == string(y)
}
