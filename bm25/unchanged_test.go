package bm25

import (
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"
)

// TestFilesStayAsTheyWere: a file without phrases has the bytes that it had
// before there were any, so that what was built then and what is built now can
// be merged and compared.
func TestFilesStayAsTheyWere(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 0))
	file := segmentBytes(t, addAll(t, NewBuilder(DefaultParams()), randomPassages(rng, 3000, 500)))
	if got := xxh3.Hash(file); got != 0xe60be2172c1bbb2d {
		t.Errorf("the file has checksum %#x", got)
	}
}
