//go:build !linux

package documents

// memoryBound does nothing: systems other than Linux cannot bound another process, so a worker watches itself.
type memoryBound struct{}

// boundMemory returns a bound that does nothing. The error is always nil.
func boundMemory(int, int64) (*memoryBound, error) { return &memoryBound{}, nil }

// allow does nothing and returns nil.
func (b *memoryBound) allow(int) error { return nil }
