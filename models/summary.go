package models

import "fmt"

// Summary describes a bundle in a line, for people.
func (b *Bundle) Summary() string {
	m := &b.Manifest
	what := ""
	side := Passage
	switch m.Kind {
	case KindDesireMe:
		what = fmt.Sprintf("a head on the question vectors of %s, %d domains", m.Base.Name, len(m.Head.Domains))
		side = Question
	case KindGenerator:
		what = "a generator, " + m.Lineage.Architecture
	case KindReader:
		what = "a reader, " + m.Precision
	default:
		v := m.Vectors
		what = fmt.Sprintf("%d dimensions, pooling %s, %s", v.Dimension, v.Pooling, m.Precision)
	}
	return fmt.Sprintf("%s: %s, %s, fingerprint %.12s", b.Dir, m.Name, what, b.Fingerprint(side))
}
