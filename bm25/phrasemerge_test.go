package bm25

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/conclave/internal/disk"
)

// TestMergePhrases: merging, without what was deleted, gives the bytes that
// indexing the rest gives, with phrases in one passage and in several blocks, and
// where terms go with all their passages; and so does building with parts on the
// disk.
func TestMergePhrases(t *testing.T) {
	for i, params := range withPhrases()[:3] {
		rng := rand.New(rand.NewPCG(65, uint64(i)))
		passages := phrasePassages(rng, 4000)
		segments := divide(t, rng, params, passages, 4)
		kept := deleteSome(rng, segments, passages)
		path := filepath.Join(t.TempDir(), "merged")
		want := wantMerged(t, path, segments, params, kept)
		b := NewBuilder(params)
		b.SpillTo(disk.OS{}, t.TempDir(), 500<<10)
		addAll(t, b, kept)
		if len(b.parts) < 3 {
			t.Fatalf("%d parts: the test is to spill more", len(b.parts))
		}
		if got := segmentBytes(t, b); !bytes.Equal(got, want) {
			t.Fatalf("%+v: with parts on the disk the segment is another", params)
		}
		x, err := Open(disk.OS{}, path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = x.Close() }()
		if err := x.check(); err != nil {
			t.Fatal(err)
		}
		// Nothing is left where all is deleted.
		for s := range segments {
			for p := range segments[s].Index.Docs() {
				segments[s].Deleted[p/64] |= 1 << (p % 64)
			}
		}
		if err := merge(t.Context(), path, segments...); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, segmentBytes(t, NewBuilder(params))) {
			t.Fatalf("%+v: without passages the merged segment is not empty, %v", params, err)
		}
	}
}

// TestMergeRefusesWrongPhrases: a phrase of terms that a segment does not have,
// or of a passage that does not have them, is not merged away.
func TestMergeRefusesWrongPhrases(t *testing.T) {
	impacts := &impactCounts{}
	impacts.add(impact{1, 2})
	for name, c := range map[string]struct {
		phrase uint64
		left   bool
		want   string
	}{
		"right":                {phraseKey(0, 1), true, ""},
		"no first term":        {phraseKey(3, 1), true, "terms 3 and 1, and there are 3"},
		"no second term":       {phraseKey(1, 3), true, "terms 1 and 3, and there are 3"},
		"a term that is gone":  {phraseKey(0, 2), true, "do not have both terms"},
		"gone with its phrase": {phraseKey(2, 0), false, ""},
	} {
		s := &wordList{terms: []string{"deep", "lake", "lost"}, phrase: c.phrase, left: c.left}
		_, err := writeSegment(t.Context(), io.Discard, segmentContent{
			params: Params{K1: 0.9, B: 0.4, Phrases: true}, lengths: []uint32{2}, impacts: impacts,
			sources: []termIterator{s},
		})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// wordList is a source of terms that are all in passage 0, but for the last, and
// of one phrase, which is there if it is left.
type wordList struct {
	terms  []string
	at     int
	phrase uint64
	left   bool
	asked  int // for phrases
}

func (l *wordList) next() ([]byte, error) {
	if l.at == len(l.terms) {
		return nil, io.EOF
	}
	l.at++
	return []byte(l.terms[l.at-1]), nil
}

func (l *wordList) nextPhrase() (uint64, error) {
	if l.asked++; l.asked > 1 {
		return 0, io.EOF
	}
	return l.phrase, nil
}

func (l *wordList) postings(yield func(passage, tf uint32)) error {
	if l.asked > 0 && l.left || l.asked == 0 && l.at < len(l.terms) {
		yield(0, 1)
	}
	return nil
}
