package doctor

import "example.org/conclave/ann/kernel"

// Kernels returns the names of the processor's instruction sets that vectors can be compared with, the one that is used
// first.
func Kernels() []string {
	var names []string
	for _, set := range kernel.All() {
		names = append(names, set.Name())
	}
	return names
}
