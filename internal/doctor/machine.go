package doctor

import "example.org/conclave/ann/kernel"

// Kernels returns the instructions of the processor with which vectors can be compared, the one that is used first.
func Kernels() []string {
	var names []string
	for _, set := range kernel.All() {
		names = append(names, set.Name())
	}
	return names
}
