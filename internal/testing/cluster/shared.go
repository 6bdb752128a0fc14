package cluster

import (
	"os"
	"strconv"
	"sync"
	"testing"
)

// shared is the cluster of this process, started by the first test that needs one.
var shared = struct {
	sync.Mutex
	cluster *Cluster
	err     error
}{}

// without is the variable by which tests that need a cluster are left out.
const without = "CONCLAVE_TEST_NO_CLUSTER"

// Start returns a cluster with so many nodes, all there and every shard assigned. The tests
// of one process share it, one after another and with the same number of nodes, and
// each uses indexes of its own. Where it cannot be had the test fails and says what to
// install, unless CONCLAVE_TEST_NO_CLUSTER is set: then it is skipped.
func Start(tb testing.TB, nodes int) *Cluster {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts a cluster of OpenSearch")
	}
	if os.Getenv(without) != "" {
		tb.Skipf("%s: no cluster of OpenSearch", without)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = Launch(tb.Context(), os.TempDir(), nodes)
	}
	if shared.cluster == nil {
		tb.Fatalf("no cluster of OpenSearch, which this test needs (%s=1 leaves such tests out): %v", without, shared.err)
	}
	if len(shared.cluster.nodes) != nodes {
		tb.Fatalf(
			"another test of this process has a cluster of %d nodes, this one wants %d",
			len(shared.cluster.nodes),
			nodes,
		)
	}
	if err := shared.cluster.Mend(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return shared.cluster
}

// End ends the cluster of this process, which otherwise ends with it. It is for the
// TestMain of packages that look for goroutines that are left.
func End() {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		shared.cluster.Close()
		shared.cluster = nil
	}
}

// Rounds returns how often a test of failures kills something: CONCLAVE_TEST_ROUNDS, else few.
func Rounds(tb testing.TB, few int) int {
	tb.Helper()
	text := os.Getenv("CONCLAVE_TEST_ROUNDS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatal(err)
	}
	return n
}
