package kernel

import (
	"math"
	"testing"
)

// valueOf returns the number that IEEE 754 defines for 16 bits, which must not be an infinity or NaN.
func valueOf(h Half) float64 {
	value := math.Ldexp(1+float64(h&1023)/1024, int(h>>10&31)-15)
	if h>>10&31 == 0 {
		value = math.Ldexp(float64(h&1023), -24)
	}
	if h>>15 != 0 {
		value = -value
	}
	return value
}

// TestEveryHalf: each half is the number of its definition, comes back when that is rounded, and is the same to the
// instructions of every set. Numbers between two halves go to the nearer one, or the even one.
func TestEveryHalf(t *testing.T) {
	out := make([]float32, 1)
	for h := range Half(0x7c00) {
		for _, h := range []Half{h, h | 0x8000} {
			want := float32(valueOf(h))
			if got := h.Float(); math.Float32bits(got) != math.Float32bits(want) {
				t.Fatalf("half %#x is %v, want %v", h, got, want)
			}
			if got := RoundHalf(want); got != h {
				t.Fatalf("%v is rounded to %#x, want %#x", want, got, h)
			}
			for _, set := range All() {
				if set.DotRows([]float32{1}, []Half{h}, out); out[0] != want {
					t.Fatalf("%s: half %#x is %v, want %v", set.Name(), h, out[0], want)
				}
			}
		}
		next := 65536.0
		if h+1 < 0x7c00 {
			next = valueOf(h + 1)
		}
		middle := float32((valueOf(h) + next) / 2)
		for x, want := range map[float32]Half{
			math.Nextafter32(middle, 0): h, middle: h + h&1, math.Nextafter32(middle, 1e9): h + 1,
		} {
			if got := RoundHalf(x); got != want {
				t.Fatalf("%v is rounded to %#x, want %#x", x, got, want)
			}
			if got := RoundHalf(-x); got != want|0x8000 {
				t.Fatalf("%v is rounded to %#x, want %#x", -x, got, want|0x8000)
			}
		}
	}
	infinity := float32(math.Inf(1))
	if RoundHalf(infinity) != 0x7c00 || Half(0x7c00).Float() != infinity || Half(0xfc00).Float() != -infinity {
		t.Error("an infinity does not stay one")
	}
	for _, h := range []Half{RoundHalf(float32(math.NaN())), 0x7c01, 0xffff} {
		if x := h.Float(); x == x {
			t.Errorf("half %#x is %v, want NaN", h, x)
		}
	}
}
