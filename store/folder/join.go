package folder

import (
	"errors"
	"fmt"
	"slices"

	"example.org/conclave/bm25"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/internal/manifest"
)

// Join returns the passages of several collections' generations as those of one, in this order. BM25 counts words over
// all of them, so that scores are comparable. Its experts are those that all have, made by the same encoders. An id may
// occur in several. Release of it releases the generations; on an error they are unchanged. It fails if there is none,
// their words are analysed differently, or they have too many passages.
func Join(all []*Generation) (*Generation, error) {
	if len(all) == 0 {
		return nil, errors.New("no collection is named that could be searched")
	}
	m := *all[0].manifest
	m.Generation, m.Segments, m.Experts = 0, nil, slices.Clone(m.Experts)
	g := &Generation{dir: all[0].dir, manifest: &m, members: all}
	g.pins.Store(1)
	var words []bm25.Segment
	for _, member := range all {
		memberManifest := member.manifest
		if memberManifest.Words != m.Words {
			return nil, fmt.Errorf("%s and %s analyse words differently, so that scores of one cannot be compared with those of the other",
				member.dir, g.dir)
		}
		m.Generation += memberManifest.Generation
		m.Segments = append(m.Segments, memberManifest.Segments...)
		m.Experts = slices.DeleteFunc(m.Experts, func(x manifest.Expert) bool {
			other := memberManifest.Expert(x.Name)
			return other == nil || other.Fingerprint != x.Fingerprint || other.Dimension != x.Dimension ||
				other.Parts != x.Parts || other.Owner != x.Owner
		})
		if total := g.total + member.total; uint64(total) > uint64(^rank.Ordinal(0)) {
			return nil, fmt.Errorf("these collections have %d passages together, and %d can be searched", total, ^rank.Ordinal(0))
		}
		for _, s := range member.segments {
			own := *s
			own.base = rank.Ordinal(g.total)
			g.total += s.store.Len()
			g.segments = append(g.segments, &own)
			words = append(words, bm25.Segment{Index: own.words, Base: own.base, Deleted: own.dead})
		}
		g.ends = append(g.ends, rank.Ordinal(g.total))
	}
	m.Experts = slices.DeleteFunc(m.Experts, func(x manifest.Expert) bool {
		return x.Owner != "" && m.Expert(x.Owner) == nil
	})
	var err error
	g.words, err = bm25.NewSearcher(words...)
	if err != nil {
		return nil, fmt.Errorf("joining the words of collections: %w", err)
	}
	g.words.OrderTies(g.compareIDs)
	g.phrases = g.words.Phrases()
	if g.phrases == nil && m.Words.Phrases {
		g.phrases = g.words
	}
	g.everything = g.selectAll()
	return g, nil
}

// InMember returns the ordinal, in a joined generation, of the live passage with this id in the member of that
// number, from 0 in the order of Join's argument. If it has none, it returns false and the ordinal means nothing. It
// panics if there is no such member. It fails if a file is damaged.
func (g *Generation) InMember(number int, id string) (rank.Ordinal, bool, error) {
	ordinal, ok, err := g.members[number].Ordinal(id)
	if number > 0 {
		ordinal += g.ends[number-1]
	}
	return ordinal, ok, err
}

// Member returns the index in Join's argument of the generation that a passage comes from. The generation must be one
// of Join.
func (g *Generation) Member(ordinal rank.Ordinal) int {
	at, _ := slices.BinarySearch(g.ends, ordinal+1)
	return at
}
