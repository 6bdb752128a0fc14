//go:build !linux

package overload

import (
	"time"
)

// acknowledgedBytes reports nothing here: a write counts when it is done.
func (c *Connection) acknowledgedBytes() (bytes int64, ok bool) { return 0, false }

// hasEnded reports nothing here: a caller that left is noticed when its connection is used.
func (c *Connection) hasEnded() (ended, left bool) { return false, false }

var begin = time.Now()

// threadTime returns the time that has passed, since the thread's is not known here.
func threadTime() time.Duration { return time.Since(begin) }
