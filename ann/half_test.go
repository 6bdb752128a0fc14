package ann

import (
	"encoding/binary"
	"math"
	"os"
	"testing"
)

// readHalves reads little-endian half-precision numbers.
func readHalves(tb testing.TB, path string) []float32 {
	tb.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	out := make([]float32, len(raw)/2)
	for i := range out {
		h := binary.LittleEndian.Uint16(raw[2*i:])
		value := math.Ldexp(1+float64(h&1023)/1024, int(h>>10&31)-15)
		if h>>10&31 == 0 {
			value = math.Ldexp(float64(h&1023), -24)
		}
		if h>>15 != 0 {
			value = -value
		}
		out[i] = float32(value)
	}
	return out
}
