//go:build !amd64

package kernel

// native is empty: other processors run the kernels in Go.
func native() []*Set { return nil }
