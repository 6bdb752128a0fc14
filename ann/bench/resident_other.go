//go:build !linux

package bench

// peakResident is only known on Linux; other systems count in other units.
func peakResident() int64 { return 0 }
