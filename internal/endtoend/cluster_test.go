package endtoend

import (
	"bytes"
	enc "encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/conclave/internal/testing/cluster"
	"example.org/conclave/search/reply"
)

// clusterLines returns passages with words that few have and words that many have.
func clusterLines(n int) string {
	random := rand.New(rand.NewPCG(5, 1))
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(
			&lines,
			`{"id":"p%d","title":"River %d","text":"the lamp of house%d burns near river%d and hill%d","tags":["t%d"],"metadata":{"kind":"lamp"}}`+"\n",
			i,
			i%17,
			i,
			random.IntN(40),
			random.IntN(9),
			i%3,
		)
	}
	return lines.String()
}

// startCluster returns the cluster of three nodes that the tests of this process share (cluster.Start). The test's name
// has to begin with TestCluster: .ci/test runs these tests beside the others, and finds them by their names.
func startCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	if !strings.HasPrefix(t.Name(), "TestCluster") {
		t.Fatalf("%s needs a cluster: let its name begin with TestCluster, by which .ci/test finds it", t.Name())
	}
	return cluster.Start(t, 3)
}

// storeAt returns the address of an index, which the test removes at its end.
func storeAt(t *testing.T, c *cluster.Cluster, index string) string {
	t.Helper()
	remove := func() {
		request, err := http.NewRequest(http.MethodDelete, c.URLs[0]+"/"+index, nil)
		if err != nil {
			return
		}
		if answer, err := http.DefaultClient.Do(request); err == nil {
			_ = answer.Body.Close()
			http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		}
	}
	remove()
	t.Cleanup(remove)
	return "opensearch+" + strings.ReplaceAll(strings.Join(c.URLs, ","), ",http://", ",") + "/" + index
}

// TestClusterKilledIndexing: conclave itself is killed at random while it indexes into a
// cluster, while it exports, and while it imports. Run again, each goes on, and the content is that of a
// collection in a folder in the end: of an export byte for byte, and of vectors that are
// encoded anew, in other batches, within 1e-5.
func TestClusterKilledIndexing(t *testing.T) {
	c := startCluster(t)
	s := newSite(t, "", []string{"base", "other"}, "base,other", clusterLines(800))
	const seed = 3
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for name, args := range map[string][]string{
		"index":  {"index", "--in", "passages.jsonl", "--experts", "base,other", "--store"},
		"export": {"export", "--collection", "c", "--to"},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			s.command(append(args, storeAt(t, c, "undisturbed"))...)
			whole := time.Since(start)
			disturbed := storeAt(t, c, "disturbed")
			ended := s.killed(
				t,
				random,
				cluster.Rounds(t, 3),
				whole/3,
				append(args, disturbed),
				func() bool { return false },
				func() { storeAt(t, c, "disturbed") },
			)
			t.Logf("an undisturbed one takes %v; beside those that were killed %d were faster", whole, ended)
			s.command(append(args, disturbed)...)
			back := filepath.Join(t.TempDir(), "back")
			importing := []string{"import", "--from", disturbed, "--collection", back}
			start = time.Now()
			s.command(importing...)
			whole = time.Since(start)
			again := func() {
				if err := os.RemoveAll(back); err != nil {
					t.Fatal(err)
				}
			}
			again()
			ended = s.killed(t, random, cluster.Rounds(t, 2), whole/2, importing, func() bool {
				_, err := os.Stat(filepath.Join(back, "MANIFEST"))
				return err == nil
			}, again)
			t.Logf("an undisturbed import takes %v; beside those that were killed %d were faster", whole, ended)
			s.command("import", "--from", disturbed, "--collection", back)
			want, got := s.exported("c"), s.exported(back)
			if len(want) != 3 {
				t.Fatalf("exported: %d files", len(want))
			}
			for file := range want {
				if name == "index" && filepath.Ext(file) == ".npy" {
					nearVectors(t, file, got[file], want[file])
				} else if !bytes.Equal(want[file], got[file]) {
					t.Errorf("%s: %d bytes, not the same as %d bytes", file, len(got[file]), len(want[file]))
				}
			}
		})
	}
}

// killed runs a command until it was killed so often, each time within a while, or within
// the shortest time in which it ended by itself. Where it was faster, or is done though it was
// killed, everything begins anew; that is how often it was.
func (s *site) killed(
	t *testing.T,
	random *rand.Rand,
	times int,
	within time.Duration,
	args []string,
	done func() bool,
	anew func(),
) (faster int) {
	t.Helper()
	for kills := 0; kills < times; {
		cmd := exec.Command(s.path, args...)
		var said strings.Builder
		cmd.Env = environment()
		cmd.Dir = s.dir
		cmd.Stdout = &said
		cmd.Stderr = &said
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(random.Int64N(int64(within))), func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		kill.Stop()
		if code := cmd.ProcessState.ExitCode(); code > 0 { // -1: killed
			t.Fatalf("%v: %v\n%s", args, err, &said)
		}
		if err != nil && !done() {
			kills++
			continue
		}
		within = min(within, time.Since(began))
		if faster++; faster > 20*times {
			t.Fatalf("%v ended %d times before it was killed, and was killed %d times", args, faster, kills)
		}
		anew()
	}
	return faster
}

// nearVectors compares two files of numpy: the same header, and float32 that differ little.
func nearVectors(t *testing.T, file string, got, want []byte) {
	t.Helper()
	const header = 128
	if len(got) != len(want) || len(want) <= header || !bytes.Equal(got[:header], want[:header]) {
		t.Errorf("%s: %d bytes, not as %d bytes", file, len(got), len(want))
		return
	}
	for i := header; i < len(want); i += 4 {
		g, w := math.Float32frombits(
			enc.LittleEndian.Uint32(got[i:]),
		), math.Float32frombits(
			enc.LittleEndian.Uint32(want[i:]),
		)
		if math.Abs(float64(g-w)) > 1e-5 || g != g {
			t.Errorf("%s: number %d is %v, not %v", file, (i-header)/4, g, w)
			return
		}
	}
}

// exported returns what an export of a collection writes, by the names of its files.
func (s *site) exported(collection string) map[string][]byte {
	s.t.Helper()
	folder := s.t.TempDir()
	s.command(
		"export",
		"--collection",
		collection,
		"--out",
		filepath.Join(folder, "passages.jsonl"),
		"--vectors",
		filepath.Join(folder, "vectors"),
	)
	out := map[string][]byte{}
	for _, pattern := range []string{"*.jsonl", "vectors/*.npy"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, path := range found {
			data, err := os.ReadFile(path)
			if err != nil {
				s.t.Fatal(err)
			}
			out[filepath.Base(path)] = data
		}
	}
	return out
}

// asking is what came of questions that were asked until a test ended.
type asking struct {
	mu       sync.Mutex
	took     []time.Duration
	asked    int // before took
	degraded int
	right    map[string]string // by question: its answer while all nodes were there
	other    int               // answers that are not the right one
	wrong    []string          // answers that are none
}

// distinct is how many questions are asked again and again.
const distinct = 60

// ask asks questions until ended, one after the other.
func (a *asking) ask(p *process, random *rand.Rand, ended *atomic.Bool) {
	for !ended.Load() {
		n := random.IntN(distinct)
		body := fmt.Sprintf(`{"question":"which lamp burns in house%d near river%d?","k":5,"timeout_ms":10000}`, n*7, n%40)
		start := time.Now()
		status, answer, err := p.send(http.MethodPost, "/v1/search", body)
		took := time.Since(start)
		var response reply.Response
		if err == nil && status == http.StatusOK {
			err = json.Unmarshal(answer, &response)
		}
		a.mu.Lock()
		a.took = append(a.took, took)
		var said strings.Builder
		for _, r := range response.Results {
			fmt.Fprintf(&said, "%s %.4f ", r.ID, r.Score)
		}
		switch right := a.right[body]; {
		case len(response.Degraded) > 0:
			a.degraded++
		case right == "":
			a.right[body] = said.String()
		case right != said.String():
			a.other++
			if a.other < 4 {
				a.wrong = append(a.wrong, fmt.Sprintf("%s is answered with %s, and was with %s", body, &said, right))
			}
		}
		if err != nil || status != http.StatusOK || len(response.Results) != 5 {
			a.wrong = append(a.wrong, fmt.Sprintf("after %v: status %d, %v: %.300s", took, status, err, answer))
		}
		a.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
}

// await waits until so many questions were answered since the last report.
func (a *asking) await(t *testing.T, questions int) {
	t.Helper()
	answered := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.took)
	}
	for end := time.Now().Add(2 * time.Minute); answered() < questions; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of %d questions were answered in two minutes", answered(), questions)
		}
	}
}

// report says how it went, and fails the test where an answer was none.
func (a *asking) report(t *testing.T, what string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	slices.Sort(a.took)
	if len(a.took) == 0 {
		return
	}
	a.asked += len(a.took)
	t.Logf(
		"%s: %d questions, %d with something degraded, %d answered otherwise, median %v, p99 %v, longest %v",
		what,
		len(a.took),
		a.degraded,
		a.other,
		a.took[len(a.took)/2],
		a.took[len(a.took)*99/100],
		a.took[len(a.took)-1],
	)
	for _, w := range a.wrong[:min(len(a.wrong), 5)] {
		t.Errorf("%s: %s", what, w)
	}
	a.took, a.degraded, a.other, a.wrong = nil, 0, 0, nil
}

// TestClusterFails: questions are answered, and as before, or with what is missing under degraded, while nodes are
// killed and while one hangs. When all are gone they fail, and are answered by the same server when the
// nodes are back. Without the client's hedging, those that a hung node takes part in would wait for some
// 25 s, and ten are allowed: nodes that were just started are slow.
func TestClusterFails(t *testing.T) {
	c := startCluster(t)
	s := newSite(t, "", []string{"base", "other"}, "base,other", clusterLines(600))
	address := storeAt(t, c, "failing")
	s.command("export", "--collection", "c", "--to", address)
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := s.serve("", "--store", address, "--read-only")
	a := &asking{right: map[string]string{}}
	var ended atomic.Bool
	var group sync.WaitGroup
	const seed, askers = 9, 2
	t.Logf("seed %d", seed)
	for i := range uint64(askers) {
		group.Go(func() { a.ask(p, rand.New(rand.NewPCG(seed, i)), &ended) })
	}
	defer func() { ended.Store(true); group.Wait() }()
	random := rand.New(rand.NewPCG(seed, askers))
	a.await(t, distinct/2)
	a.report(t, "all nodes there")
	for round := range cluster.Rounds(t, 2) {
		victim := random.IntN(3)
		if err := c.Kill(victim); err != nil {
			t.Fatal(err)
		}
		a.await(t, 10)
		a.report(t, fmt.Sprintf("round %d, node %d killed", round, victim))
		if err := c.Mend(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.report(t, "while it comes back")
	}
	for victim := range c.URLs {
		if err := c.Stop(victim); err != nil {
			t.Fatal(err)
		}
		a.await(t, 10)
		a.report(t, fmt.Sprintf("node %d stopped", victim))
		if err := c.Mend(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.report(t, "while it goes on")
	}
	ended.Store(true)
	group.Wait()
	a.report(t, "the last ones")

	for i := range c.URLs {
		if err := c.Kill(i); err != nil {
			t.Fatal(err)
		}
	}
	const question = `{"question":"which lamp burns in house7 near river1?","k":5,"timeout_ms":10000}`
	if status, answer, err := p.send(http.MethodPost, "/v1/search", question); err != nil ||
		status != http.StatusServiceUnavailable {
		t.Errorf("without a node: status %d, %v: %.300s", status, err, answer)
	}
	if err := c.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status, answer, err := p.send(http.MethodPost, "/v1/search", question); err != nil || status != http.StatusOK {
		t.Errorf("when all are back: status %d, %v: %.300s", status, err, answer)
	}
	_, metrics, err := p.send(http.MethodGet, "/metrics", "")
	if err != nil || !bytes.Contains(metrics, []byte(`operation="msearch",outcome="overtaken"`)) {
		t.Errorf("/metrics has no request that was overtaken: %v", err)
	}
	p.stop()
	if a.asked < 50 {
		t.Errorf("only %d questions were asked", a.asked)
	}
}

// TestClusterLostShard: a shard whose only copy is on a node that was killed is missed by
// every source, which the answer says of each; what the others have is found, scored and counted by its fields.
// The server is not ready meanwhile, and answers wholly when the node is back. It is ready
// where a copy alone is missing, and not where another index has taken the place of its own.
func TestClusterLostShard(t *testing.T) {
	c := startCluster(t)
	s := newSite(t, "", []string{"base", "other"}, "base,other", clusterLines(300))
	address := storeAt(t, c, "lost-shard")
	s.command("export", "--collection", "c", "--to", address, "--cluster-replicas", "0")
	p := s.serve("", "--store", address, "--read-only")
	ask := func() (r reply.Response) {
		t.Helper()
		p.get(
			http.MethodPost,
			"/v1/search",
			`{"question":"which lamp burns near river7?","k":300,"candidates":300,"fusion":"sum","timeout_ms":10000,
				"facets":[{"field":"kind"}]}`,
			http.StatusOK,
			&r,
		)
		return r
	}
	whole := ask()
	if len(whole.Degraded) > 0 || len(whole.Results) != 300 {
		t.Fatalf("%d results, without %+v", len(whole.Results), whole.Degraded)
	}
	if err := c.Kill(1); err != nil {
		t.Fatal(err)
	}
	got := ask()
	named := map[string]bool{}
	for _, m := range got.Degraded {
		named[m.Source] = strings.Contains(m.Reason, "passages are missing")
	}
	if len(named) != 3 || !named["bm25"] || !named["base"] || !named["other"] {
		t.Errorf("named: %+v", got.Degraded)
	}
	if n := len(got.Results); n < 100 || n >= 300 {
		t.Errorf("%d passages are found", n)
	}
	if len(whole.Facets) != 1 || whole.Facets[0].Approximate || len(got.Facets) != 1 || !got.Facets[0].Approximate ||
		got.Facets[0].Selected[0].Count != len(got.Results) {
		t.Errorf("values: %+v, and %+v of what is left", whole.Facets, got.Facets)
	}
	for _, r := range got.Results {
		for _, x := range r.Contributions {
			if x.Score == nil || *x.Score == 0 {
				t.Errorf("passage %s has no score by %s", r.ID, x.Source)
			}
		}
	}
	becomes := func(want int, says string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			status, answer, err := p.send(http.MethodGet, "/readyz", "")
			if err == nil && status == want && bytes.Contains(answer, []byte(says)) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("/readyz: %d, %v, %s", status, err, answer)
			}
		}
	}
	becomes(http.StatusServiceUnavailable, "a shard of the index has no copy")
	if err := c.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again := ask(); len(again.Degraded) > 0 || len(again.Results) != 300 {
		t.Errorf("when the node is back: %d results, without %+v", len(again.Results), again.Degraded)
	}

	// More copies than nodes: the index is yellow, and searched with a warning. Another index
	// in its place is not searched.
	tell := func(method, path, body string) {
		t.Helper()
		request, err := http.NewRequest(method, c.URLs[0]+"/lost-shard"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %v, %+v", method, path, err, answer)
		}
		_ = answer.Body.Close()
	}
	defer http.DefaultClient.CloseIdleConnections()
	tell(http.MethodPut, "/_settings", `{"index":{"number_of_replicas":3}}`)
	becomes(http.StatusOK, "the index's health is yellow: 3 copies of shards are on no node")
	tell(http.MethodDelete, "", "")
	tell(http.MethodPut, "", `{}`)
	becomes(http.StatusServiceUnavailable, "was not made by conclave")
	p.stop()
}
