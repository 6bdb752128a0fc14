package vectors

import (
	"runtime"
	"testing"
)

// TestPeakResident touches memory and lets it go: the peak has it.
func TestPeakResident(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux says it")
	}
	const size = 64 << 20
	before := peakResident()
	memory := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		memory[i] = 1
	}
	runtime.KeepAlive(memory)
	if after := peakResident(); before <= 0 || after < size {
		t.Errorf("%d bytes before 64 MiB were touched, %d after", before, after)
	}
}
