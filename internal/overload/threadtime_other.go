//go:build !linux

package overload

import "time"

var begin = time.Now()

// threadTime returns the time that has passed, since the thread's is not known here.
func threadTime() time.Duration { return time.Since(begin) }
