package bench

import "golang.org/x/sys/unix"

// peakResident is the most memory that this process has had resident, in
// bytes.
func peakResident() int64 {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Maxrss * 1024
}
