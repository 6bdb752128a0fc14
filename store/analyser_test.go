package store

import (
	"testing"

	"example.org/conclave/bm25"
)

// TestCheckAnalyser: collections of versions that read powers otherwise can be searched, others cannot.
func TestCheckAnalyser(t *testing.T) {
	for _, c := range []struct {
		fingerprint string
		analysis    bm25.Analysis
		ok          bool
	}{
		{Analyser(bm25.Unicode), bm25.Unicode, true}, {Analyser(bm25.Lucene), bm25.Lucene, true},
		{"40f4e93662efbcafa8c006766252ceca", bm25.Unicode, true}, // of version 0.1.0
		{"40f4e93662efbcafa8c006766252ceca", bm25.Lucene, false},
		{Analyser(bm25.Lucene), bm25.Unicode, false}, {"", bm25.Unicode, false},
	} {
		if CheckAnalyser(c.fingerprint, c.analysis) != c.ok {
			t.Errorf("%+v", c)
		}
	}
	if Analyser(bm25.Unicode) == beforePowers {
		t.Error("the analysis of powers has the fingerprint of the one before")
	}
}
