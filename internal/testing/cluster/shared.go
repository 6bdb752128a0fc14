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
const without = "TEST_NO_CLUSTER"

// Start returns the cluster of this process, with every node up and every shard assigned; the first call launches it.
// Tests of one process share it one after another, all with the same number of nodes, and each uses its own indexes.
// If it cannot be launched, the test fails and says what to install. With -short, or if TEST_NO_CLUSTER is
// set, the test is skipped.
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
			"another test of this process has a cluster of %d nodes, this one wants %d", len(shared.cluster.nodes),
			nodes,
		)
	}
	if err := shared.cluster.Mend(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return shared.cluster
}

// End ends the cluster that Start launched, if any; without End it ends with the process. It is for the TestMain of
// packages that check for leaked goroutines.
func End() {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		shared.cluster.Close()
		shared.cluster = nil
	}
}

// Rounds returns how often a test of failures kills something: the number in CONCLAVE_TEST_ROUNDS, or few if that is
// not set. The test fails if it is not a number.
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
