package bm25

import (
	"encoding/binary"
	"errors"

	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/disk"
)

// TestCheckFindsWrongPhrases changes files in what phrases are, and puts their
// checksums right.
func TestCheckFindsWrongPhrases(t *testing.T) {
	with, without := smallSegment(t, true), smallSegment(t, false)
	path := filepath.Join(t.TempDir(), "words")
	check := func(file []byte) error {
		t.Helper()
		put(t, path, sign(file))
		x, err := Open(disk.OS{}, path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = x.Close() }()
		return x.check()
	}
	flags := func(file []byte, flags byte) []byte {
		out := slices.Clone(file)
		out[len(out)-footerSize+4] = flags
		return out
	}
	if err := errors.Join(check(with), check(without)); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{
		"phrases where there are to be none": flags(with, 0),
		"no phrases where there are to be":   flags(without, flagPhrases),
	} {
		var damage *DamageError
		if err := check(file); !errors.As(err, &damage) {
			t.Errorf("%s: Check says %v", name, err)
		}
	}
	put(t, path, sign(flags(without, 1<<7)))
	if x, err := Open(disk.OS{}, path); err == nil || !strings.Contains(err.Error(), "does not know") {
		t.Errorf("a feature of the future: %v, %v", x, err)
	}
}

// smallPhrases returns a small segment with phrases, as a file and opened.
func smallPhrases(t *testing.T) ([]byte, *Index) {
	t.Helper()
	file := smallSegment(t, true)
	path := filepath.Join(t.TempDir(), "words")
	put(t, path, file)
	x, err := Open(disk.OS{}, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return file, x
}

// TestCheckFindsWrongRuns changes what is known of runs of phrases, and phrases
// themselves, and puts the checksums right: no look-up may panic, and Check finds
// it.
func TestCheckFindsWrongRuns(t *testing.T) {
	file, x := smallPhrases(t)
	path := x.path
	runs, phrases := x.sections[sectionRuns], x.sections[sectionPhrases]
	le := binary.LittleEndian
	add := func(n uint32) func(b []byte) {
		return func(b []byte) { le.PutUint32(b, le.Uint32(b)+n) }
	}
	set := func(n uint32) func(b []byte) {
		return func(b []byte) { le.PutUint32(b, n) }
	}
	wrong := func(name string, at uint64, change func(b []byte)) {
		t.Helper()
		changed := slices.Clone(file)
		change(changed[at:])
		put(t, path+"2", sign(changed))
		y, err := Open(disk.OS{}, path+"2")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer func() { _ = y.Close() }()
		for id := range y.terms {
			first, _ := y.termText(id)
			_, _ = y.lookupPhrase(first, first) // an error or none
		}
		var damage *DamageError
		if err := y.check(); !errors.As(err, &damage) {
			t.Errorf("%s: Check says %v", name, err)
		}
		if err := merge(t.Context(), path+"3", Segment{Index: y}); err != nil && !errors.As(err, &damage) {
			t.Errorf("%s: Merge says %v", name, err)
		}
	}
	n := runsFor(x.phrases)
	if n < 3 {
		t.Fatalf("%d runs: the test is to have more", n)
	}
	for i := range n {
		head := runs.offset + runSize*i
		wrong("no such first term", head, set(x.terms))
		wrong("no such second term", head+4, set(x.terms))
		wrong("a run that begins later", head+8, add(1))
		wrong("a run that begins earlier", head+8, add(^uint32(0)))
		wrong("a run that begins elsewhere", head+12, add(1))
		wrong("more bytes of phrases", head+16, add(1))
		wrong("fewer bytes of phrases", head+16, add(^uint32(0)))
		wrong("blocks of others", head+20, add(1))
		if i > 0 {
			wrong("a run that does not follow", head, func(b []byte) { copy(b[:8], file[runs.offset+runSize*(i-1):]) })
		}
	}
	// A phrase in one passage and one in several, each by its parts.
	reader := phraseReader{index: x}
	seen := map[string]bool{}
	for err := reader.next(); err == nil; err = reader.next() {
		run := &reader.run
		switch {
		case run.df == 1 && !seen["one"]:
			seen["one"] = true
			wrong("no such passage", phrases.offset+run.at, func(b []byte) { b[0], b[1] = 0xff, 0xff })
			wrong("another impact", phrases.offset+run.at+uint64(run.width), func(b []byte) { b[0] ^= 1 })
			wrong("another passage", phrases.offset+run.at, func(b []byte) { b[0] ^= 1 })
		case run.df > 1 && run.df < 60 && !seen["several"]:
			seen["several"] = true
			ends := phrases.offset + run.start + uint64(run.place) // of df, length and rank
			rank := uint64(1)
			if run.high >= 0x80 {
				rank = 2
			}
			wrong("another largest rank", ends-rank, func(b []byte) { b[0] ^= 1 })
			wrong("another length of blocks", ends-rank-1, func(b []byte) { b[0]++ })
			wrong("more passages", ends-rank-2, func(b []byte) { b[0]++ })
			wrong("one passage of several", ends-rank-2, func(b []byte) { b[0] = 1 })
		}
	}
	if len(seen) != 2 {
		t.Fatalf("the test is to have more kinds: %v", seen)
	}
	const footPhrases = 24 + 8*4
	wrong("fewer phrases", uint64(len(file)-footerSize+footPhrases), add(^uint32(0)))
}

// TestCheckFindsGaps puts a byte that belongs to nothing into the section of
// phrases, and all that lies behind it right.
func TestCheckFindsGaps(t *testing.T) {
	file, x := smallPhrases(t)
	path := x.path
	first, err := x.openRun(0)
	if err != nil {
		t.Fatal(err)
	}
	phrases, runs := x.sections[sectionPhrases], x.sections[sectionRuns]
	le := binary.LittleEndian
	for name, at := range map[string]uint64{
		"before the first run":               0,
		"between a run's phrases and blocks": first.blocks,
		"between two runs":                   first.end,
		"behind the last run":                phrases.length,
	} {
		changed := slices.Insert(slices.Clone(file), int(phrases.offset+at), 0)
		length := changed[len(changed)-footerSize+24+8*5+8*sectionPhrases:]
		le.PutUint64(length, phrases.length+1)
		for i := range runsFor(x.phrases) {
			head := changed[runs.offset+1+runSize*i:]
			start := le.Uint64(head[8:])
			if i == 0 && at == first.blocks {
				le.PutUint32(head[16:], le.Uint32(head[16:])+1)
			} else if start >= at {
				le.PutUint64(head[8:], start+1)
			}
		}
		put(t, path+"2", sign(changed))
		y, err := Open(disk.OS{}, path+"2")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var damage *DamageError
		if err := y.check(); !errors.As(err, &damage) {
			t.Errorf("a byte %s: Check says %v", name, err)
		}
		if err := y.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
