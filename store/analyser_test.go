package store

import (
	"testing"

	"example.org/conclave/bm25/forms"
)

// TestCheckAnalyser: collections of versions that read powers otherwise can be searched, others cannot.
func TestCheckAnalyser(t *testing.T) {
	for _, c := range []struct {
		fingerprint string
		analysis    forms.Analysis
		ok          bool
	}{
		{Analyser(forms.Unicode), forms.Unicode, true}, {Analyser(forms.Lucene), forms.Lucene, true},
		{"40f4e93662efbcafa8c006766252ceca", forms.Unicode, true}, // of version 0.1.0
		{"40f4e93662efbcafa8c006766252ceca", forms.Lucene, false},
		{Analyser(forms.Lucene), forms.Unicode, false}, {"", forms.Unicode, false},
	} {
		if CheckAnalyser(c.fingerprint, c.analysis) != c.ok {
			t.Errorf("%+v", c)
		}
	}
	if Analyser(forms.Unicode) == beforePowers {
		t.Error("the analysis of powers has the fingerprint of the one before")
	}
}
