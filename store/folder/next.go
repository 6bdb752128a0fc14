package folder

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.org/conclave/bm25/forms"
	"example.org/conclave/store"
	"example.org/conclave/store/folder/internal/manifest"
)

// mostNumber is the largest number of a generation, a segment or a change of the log. Every program
// that reads JSON represents it exactly, and no collection comes near it.
const mostNumber = 1 << 53

// checkNext returns all reasons why generation m can be read but no next one can be made: numbers are used up or
// taken by files, or the name, fingerprint or parameters of an expert or of the words are such that no index can be
// built. It returns nil if there are none.
func checkNext(m *manifest.Manifest) error {
	var errs []error
	for _, n := range []struct {
		name  string
		value uint64
	}{{"generation", m.Generation}, {"next_segment", m.NextSegment}, {"applied", m.Applied}} {
		if n.value >= mostNumber {
			errs = append(
				errs,
				fmt.Errorf("%s is %d, and no number follows: at most %d is possible", n.name, n.value, uint64(mostNumber)),
			)
		}
	}
	taken := func(name, prefix string) {
		number, ok := strings.CutPrefix(name, prefix)
		if n, err := strconv.ParseUint(number, 10, 64); ok && (err != nil || n >= m.NextSegment) {
			errs = append(errs, fmt.Errorf("next_segment is %d, and the file %s exists already", m.NextSegment, name))
		}
	}
	for i := range m.Segments {
		s := &m.Segments[i]
		taken(s.Name, "seg-")
		if s.Tombstones != nil {
			taken(s.Tombstones.Name, "deleted-")
		}
	}
	for _, x := range m.Experts {
		if err := store.CheckExpertName(x.Name); err != nil {
			errs = append(errs, err)
		}
		if x.Fingerprint == "" {
			errs = append(errs, fmt.Errorf("expert %q has no fingerprint, so that no encoder can be matched with it", x.Name))
		}
		if x.Owner == "" {
			if err := x.Index.Check(); err != nil {
				errs = append(errs, fmt.Errorf("expert %q: %w", x.Name, err))
			}
		}
	}
	if _, err := forms.ParseAnalysis(m.Words.AnalysisName()); err == nil { // else reading refuses it
		if err := m.Words.Params().Check(); err != nil {
			errs = append(errs, fmt.Errorf("words: %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the next build cannot use generation %d: %w", m.Generation, err)
	}
	return nil
}
