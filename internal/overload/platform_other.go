//go:build !linux

package overload

import (
	"time"
)

// acknowledgedBytes returns ok == false: this system does not tell what the client acknowledged. A write counts when it
// is done.
func (c *Connection) acknowledgedBytes() (bytes int64, ok bool) { return 0, false }

// hasEnded returns false twice: on this system the server learns that a client left when it uses the connection.
func (c *Connection) hasEnded() (ended, left bool) { return false, false }

var begin = time.Now()

// threadTime returns the time since the process began, since this system does not tell a thread's processor time.
func threadTime() time.Duration { return time.Since(begin) }
