package folder

import (
	"math"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// TestVerifyFindsWhatNoBuildCanUse: a manifest that is whole and can be read, and of which no
// next generation can be made, is found by Verify, and by the writer before it writes.
func TestVerifyFindsWhatNoBuildCanUse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(m *manifest.Manifest)
		says   string
	}{
		"generations used up":    {func(m *manifest.Manifest) { m.Generation = math.MaxUint64 }, "generation is 18446744073709551615"},
		"segments used up":       {func(m *manifest.Manifest) { m.NextSegment = math.MaxUint64 }, "next_segment is"},
		"a number that is taken": {func(m *manifest.Manifest) { m.NextSegment = 1 }, "exists already"},
		"no number":              {func(m *manifest.Manifest) { m.NextSegment = 0 }, "exists already"},
		"the log used up":        {func(m *manifest.Manifest) { m.Applied = math.MaxUint64 }, "applied is"},
		"an unknown index":       {func(m *manifest.Manifest) { m.Experts[0].Index.Kind = "tree" }, "tree"},
		"an impossible index": {func(m *manifest.Manifest) {
			m.Experts[0].Index = store.Index{Kind: "hnsw", M: 1 << 30, EfConstruction: 1}
		}, `expert "a"`},
		"no fingerprint": {func(m *manifest.Manifest) { m.Experts[0].Fingerprint = "" }, "no fingerprint"},
		"as it was":      {func(*manifest.Manifest) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir() + "/c"
			if _, err := Build(t.Context(), dir, of(randomPassages(1, 20)), store.BuildOptions{Experts: []store.PassageEncoder{&hashEncoder{name: "a", dimension: 4}}}); err != nil {
				t.Fatal(err)
			}
			m, err := readManifest(disk.OS{}, dir)
			if err != nil {
				t.Fatal(err)
			}
			c.change(m)
			if _, err := manifest.Write(disk.OS{}, dir, m); err != nil {
				t.Fatal(err)
			}
			_, verified := Verify(t.Context(), dir, nil)
			_, added := Add(
				t.Context(),
				dir,
				of([]corpus.Passage{{ID: "new", Text: "zebra"}}),
				store.BuildOptions{Experts: []store.PassageEncoder{&hashEncoder{name: "a", dimension: 4}}},
			)
			if c.says == "" {
				if verified != nil || added != nil {
					t.Errorf("%v, %v", verified, added)
				}
				return
			}
			if verified == nil || !strings.Contains(verified.Error(), c.says) {
				t.Errorf("verify: %v", verified)
			}
			if added == nil {
				t.Error("the next build took it")
			}
		})
	}
}
