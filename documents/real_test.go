package documents

import (
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestRealFiles reads the files below the folder in CONCLAVE_TEST_DOCUMENTS, each of which
// has to be read or refused with a reason, and counts them by type:
//
//	CONCLAVE_TEST_DOCUMENTS=DIR go test -v -run TestRealFiles ./documents
func TestRealFiles(t *testing.T) {
	root := os.Getenv("CONCLAVE_TEST_DOCUMENTS")
	if root == "" {
		t.Skip("CONCLAVE_TEST_DOCUMENTS names no folder of files")
	}
	r := newTestReader(t)
	counts := map[string]map[string]int{}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries { // which may be links to folders
		below := root + "/" + entry.Name() + "/."
		if err := (Walking{Limits: limits()}).Files(t.Context(), []string{below}, func(_ string, f FoundFile) error {
			kind := strings.ToLower(path.Ext(f.Path))
			if formatOfEnding(kind).Name == "" {
				return nil
			}
			if counts[kind] == nil {
				counts[kind] = map[string]int{}
			}
			data, err := f.Data()
			if err == nil {
				err = Expand(f.Path, data, limits(), func(m Member) error {
					d, _, err := r.Read(t.Context(), Input{Name: m.Name, Data: m.Data})
					if err == nil {
						check(t, m.Name, d)
					}
					return err
				})
			}
			outcome := "read"
			if err != nil {
				outcome = string(ReasonOf(err))
				if outcome == "" {
					t.Errorf("%s/%s: %v is no reason", entry.Name(), f.Path, err)
				}
				if outcome == string(TooSlow) {
					t.Logf("%s/%s: %v", entry.Name(), f.Path, err)
				}
			}
			counts[kind][outcome]++
			return nil
		}); err != nil && !strings.Contains(err.Error(), "not a directory") {
			t.Error(err)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%-10s %v", kind, counts[kind])
	}
}
