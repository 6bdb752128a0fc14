package cluster

import (
	"os"
	"sync"
	"testing"
)

// shared is the cluster of this process, started by the first test that needs one.
var shared = struct {
	sync.Mutex
	cluster *Cluster
	err     error
}{}

// Start is a cluster with so many nodes, all there and every shard assigned. The tests
// of one process share it, one after another and with the same number of nodes, and
// each uses indexes of its own. Where it cannot be had the test is skipped, and says
// what to install.
func Start(tb testing.TB, nodes int) *Cluster {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts a cluster of OpenSearch")
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		if _, shared.err = install(tb.Context()); shared.err == nil {
			if shared.cluster, shared.err = Launch(tb.Context(), os.TempDir(), nodes); shared.err != nil {
				tb.Fatal(shared.err)
			}
		}
	}
	if shared.cluster == nil {
		tb.Skipf("SKIPPED, not tested: no cluster of OpenSearch: %v", shared.err)
	}
	if len(shared.cluster.nodes) != nodes {
		tb.Fatalf("another test of this process has a cluster of %d nodes, this one wants %d", len(shared.cluster.nodes), nodes)
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
