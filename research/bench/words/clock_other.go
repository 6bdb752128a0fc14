//go:build !linux

package words

import "time"

// ThreadTime returns the time of day, since a thread's own time cannot be read on this system.
func ThreadTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
