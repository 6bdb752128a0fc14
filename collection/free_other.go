//go:build !linux && !darwin

package collection

// Free is not known here.
func (osDisk) Free(string) (bytes int64, known bool) { return 0, false }
