package endtoend

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/testing/cluster"
)

// TestClusterAccess: a server and commands reach a cluster behind TLS with a password or
// an API key, of the environment or of a file. Whoever may only read is served with
// --read-only alone. Nothing that is printed has a secret, at any level, though the
// cluster repeats what it was sent.
func TestClusterAccess(t *testing.T) {
	c := startCluster(t)
	s := newSite(t, "log: {level: debug, questions: true}\n", []string{"small"}, "small", clusterLines(5))
	s.command("export", "--collection", "c", "--to", storeAt(t, c, "access"))
	node, trusted := cluster.Guarded(t, c)
	for name, text := range map[string]string{"password": cluster.Password + "\n", "key": cluster.WritingKey + "\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address, export := "opensearch+"+node+"/access", "export CONCLAVE_CLUSTER_CA="+trusted+" "
	var printed strings.Builder
	for _, way := range []string{
		"CONCLAVE_CLUSTER_USER=writer CONCLAVE_CLUSTER_PASSWORD=sesame-1",
		"CONCLAVE_CLUSTER_USER=writer CONCLAVE_CLUSTER_PASSWORD_FILE=password",
		"CONCLAVE_CLUSTER_API_KEY=sesame-2",
		"CONCLAVE_CLUSTER_API_KEY_FILE=key",
		"CONCLAVE_CLUSTER_USER=reader CONCLAVE_CLUSTER_PASSWORD=sesame-1",
	} {
		before := export + way + ";"
		args := []string{"--store", address}
		if strings.Contains(way, "reader") {
			out, err := s.fails(before, "serve", "--listen", "127.0.0.1:0", "--store", address)
			if err == nil || !strings.Contains(out, "may not write to the index") || !strings.Contains(out, "--read-only") {
				t.Errorf("a server that may not write: %v\n%s", err, out)
			}
			printed.WriteString(out)
			args = append(args, "--read-only")
		}
		p := s.serve(before, args...)
		if found := p.search("lamp", ""); len(found) != 5 {
			t.Errorf("%s: %v", way, found)
		}
		for _, path := range []string{"/metrics", "/readyz", "/v1/experts"} {
			_, answer, err := p.send(http.MethodGet, path, "")
			if err != nil {
				t.Error(err)
			}
			printed.Write(answer)
		}
		p.stop()
		printed.WriteString(p.log.String())
		out, err := s.fails(before, "serve", "--print-config", "--store", address)
		if err != nil || !strings.Contains(out, "cluster:") {
			t.Errorf("%v\n%s", err, out)
		}
		printed.WriteString(out)
	}
	for way, want := range map[string]string{
		"CONCLAVE_CLUSTER_USER=writer CONCLAVE_CLUSTER_PASSWORD=sesame-0": `the user "writer" with this password`,
		"CONCLAVE_CLUSTER_API_KEY=sesame-0":                               "this API key",
	} {
		out, err := s.fails(export+way+";", "import", "--from", address, "--collection", "none")
		if err == nil || !strings.Contains(out, "does not accept "+want) {
			t.Errorf("%s: %v\n%s", way, err, out)
		}
		printed.WriteString(out)
	}
	if piece, found := cluster.SecretIn(printed.String()); found {
		t.Errorf("a secret was printed: …%s", piece)
	}
}

// fails runs a command that may fail, behind a shell's command line, and gives all that it
// prints.
func (s *site) fails(before string, args ...string) (string, error) {
	s.t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", before + ` exec "$0" "$@"`, s.path}, args...)...)
	cmd.Env = environment()
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestClusterUnreachable: a server and every command say of each address that no node
// answers there, and why.
func TestClusterUnreachable(t *testing.T) {
	s := newSite(t, "", []string{"small"}, "small", clusterLines(5))
	var addresses []string
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, listener.Addr().String())
		_ = listener.Close()
	}
	store := fmt.Sprintf("opensearch+http://%s/x", strings.Join(addresses, ","))
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--store"},
		{"index", "--in", "passages.jsonl", "--experts", "small", "--store"},
		{"export", "--collection", "c", "--to"},
		{"import", "--collection", "back", "--from"},
		{"search", "lamp", "--store"},
	} {
		out, err := s.fails("", append(args, store)...)
		if err == nil {
			t.Errorf("%v: no error", args)
		}
		for _, address := range addresses {
			if !strings.Contains(out, "http://"+address+": dial tcp "+address+": connect: connection refused") {
				t.Errorf("%v does not name %s:\n%s", args, address, out)
			}
		}
	}
}
