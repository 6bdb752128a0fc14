package opensearch

import (
	"os"
	"testing"

	"conclave/internal/cluster"
)

func TestMain(m *testing.M) { os.Exit(cluster.Apart(m)) }
