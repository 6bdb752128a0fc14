package vectors

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// peakResident returns the most resident memory of this process so far, in bytes; 0 if the system does not tell.
// getrusage would include that of the process that started this one: its peak is inherited.
func peakResident() int64 {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }() // only read
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), "VmHWM:"); found {
			kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return 1024 * kilobytes
		}
	}
	return 0
}
