//go:build !linux

package overload

import (
	"time"
)

// acknowledged reports nothing here: a write counts when it is done.
func (c *Connection) acknowledged() (bytes int64, ok bool) { return 0, false }

// ended reports nothing here: a caller that left is noticed when its connection is used.
func (c *Connection) ended() (ended, left bool) { return false, false }

var begin = time.Now()

// threadTime returns the time that has passed, since the thread's is not known here.
func threadTime() time.Duration { return time.Since(begin) }
