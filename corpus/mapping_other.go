//go:build !unix

package corpus

import "os"

// mapping is a file in memory: read whole, where there are no mappings.
type mapping struct{ data []byte }

func mapFile(path string) (*mapping, error) {
	data, err := os.ReadFile(path)
	return &mapping{data: data}, err
}

func (m *mapping) close() error {
	m.data = nil
	return nil
}
