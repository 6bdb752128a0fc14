package opensearch

import (
	"os"
	"testing"

	"example.org/conclave/internal/testing/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Apart(m)) }
