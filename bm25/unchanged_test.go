package bm25

import (
	"math/rand/v2"
	"testing"

	"github.com/zeebo/xxh3"
)

// TestFilesStayAsTheyWere: a file has the same bytes as long as its format has
// the same number, so that what was built earlier and what is built later can be
// merged and compared.
func TestFilesStayAsTheyWere(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 0))
	file := segmentBytes(t, addAll(t, NewBuilder(DefaultParams()), randomPassages(rng, 3000, 500)))
	if got := xxh3.Hash(file); got != 0x6ac755ccecb04f91 {
		t.Errorf("the file has checksum %#x", got)
	}
}
