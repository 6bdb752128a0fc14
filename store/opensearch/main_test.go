package opensearch

import (
	"os"
	"testing"

	testcluster "example.org/conclave/internal/testing/cluster"
)

func TestMain(m *testing.M) { os.Exit(testcluster.Apart(m)) }
