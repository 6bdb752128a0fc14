package bm25

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCheckFindsWrongPhrases changes files in what phrases are, and puts their
// checksums right.
func TestCheckFindsWrongPhrases(t *testing.T) {
	with, without := smallSegment(t, true), smallSegment(t, false)
	path := filepath.Join(t.TempDir(), "words")
	check := func(file []byte) error {
		t.Helper()
		put(t, path, sign(file))
		x, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = x.Close() }()
		return x.Check()
	}
	flags := func(file []byte, flags byte) []byte {
		out := slices.Clone(file)
		out[len(out)-footerSize+4] = flags
		return out
	}
	if err := errors.Join(check(with), check(without), check(written(t, "deep", "deep deep"))); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{
		"phrases where there are to be none": flags(with, flagExactLengths),
		"no phrases where there are to be":   flags(without, flagExactLengths|flagPhrases),
		"a phrase without its first word":    written(t, "lake", "deep lake"),
		"a phrase without its second word":   written(t, "deep", "deep lake"),
	} {
		var damage *DamageError
		if err := check(file); !errors.As(err, &damage) {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
	put(t, path, sign(flags(without, 1<<7)))
	if x, err := Open(path); err == nil || !strings.Contains(err.Error(), "does not know") {
		t.Errorf("a feature of the future: %v, %v", x, err)
	}
}

// written is a file of one passage of two terms, in which each given one occurs
// twice and each phrase once.
func written(t *testing.T, terms ...string) []byte {
	t.Helper()
	slices.Sort(terms)
	impacts := &impactCounts{}
	for _, term := range terms {
		impacts.add(impact{timesOf(term), 2})
	}
	var out bytes.Buffer
	_, err := writeSegment(t.Context(), &out, segmentContent{
		params: Params{K1: 0.9, B: 0.4, Phrases: true}, lengths: []uint32{2}, impacts: impacts,
		sources: []source{&termList{terms: terms}}, postings: oneAfterOther,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func timesOf(term string) uint32 {
	if strings.Contains(term, " ") {
		return 1
	}
	return 2
}

// termList is a source of terms that are all in passage 0.
type termList struct {
	terms []string
	at    int
}

func (l *termList) next() ([]byte, error) {
	if l.at == len(l.terms) {
		return nil, io.EOF
	}
	l.at++
	return []byte(l.terms[l.at-1]), nil
}

func (l *termList) postings(yield func(passage, tf uint32)) error {
	yield(0, timesOf(l.terms[l.at-1]))
	return nil
}
