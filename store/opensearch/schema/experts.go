package schema

import (
	"fmt"

	"example.org/conclave/store"
)

// ExpertNames returns the names of experts, in their order.
func ExpertNames(experts []Expert) (out []string) {
	for _, x := range experts {
		out = append(out, x.Name)
	}
	return out
}

// CheckAllEncoders returns an error unless the encoders are those of all experts of the manifest, and no others.
func (m *Manifest) CheckAllEncoders(encoders []store.PassageEncoder) error {
	given := map[string]bool{}
	for _, e := range encoders {
		x, err := DescribeEncoder(e)
		if err != nil {
			return err
		}
		has, ok := m.Expert(x.Name)
		if !ok {
			return fmt.Errorf("the index has no vectors of expert %q (it has: %v)", x.Name, ExpertNames(m.Experts))
		}
		if has != x {
			return fmt.Errorf(
				"the vectors of expert %q were made by the passage encoder %.16s (%d numbers), and the one given is %.16s (%d numbers): use the bundle that made them",
				x.Name, has.Fingerprint, has.Dimension, x.Fingerprint, x.Dimension,
			)
		}
		given[x.Name] = true
	}
	for _, x := range m.Experts {
		if !given[x.Name] {
			return fmt.Errorf("the index has vectors of expert %q, so its encoder is needed to write passages", x.Name)
		}
	}
	return nil
}

// SearchableBy reports whether an index that was opened with this manifest can be searched with the next one: it has
// the same words, and the same experts, perhaps with further ones.
func (m *Manifest) SearchableBy(next *Manifest) bool {
	for _, x := range m.Experts {
		if has, ok := next.Expert(x.Name); !ok || has != x {
			return false
		}
	}
	return m.Words == next.Words
}

// String returns the constants of the words, whether phrases are indexed, and the experts with the beginnings of
// their fingerprints, for messages.
func (m *Manifest) String() string {
	out := fmt.Sprintf("words with k1 %v and b %v", m.Words.K1, m.Words.B)
	if m.Words.Phrases {
		out += ", phrases"
	}
	for _, x := range m.Experts {
		out += fmt.Sprintf(", expert %s (%.12s)", x.Name, x.Fingerprint)
	}
	return out
}
