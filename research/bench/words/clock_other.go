//go:build !linux

package words

import "time"

// ThreadTime returns the time of day, where a thread's own time is not to be had.
func ThreadTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
