//go:build !amd64

package kernel

// native returns nothing: other processors run the kernels in Go.
func native() []*Set { return nil }

// Prefetch does nothing where there is no assembly.
func Prefetch([]byte) {}
