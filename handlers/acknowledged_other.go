//go:build !linux

package handlers

// acknowledged reports nothing here: a write counts when it is done.
func (c *connection) acknowledged() (bytes int64, ok bool) { return 0, false }

// ended reports nothing here: a caller that left is noticed when its connection is used.
func (c *connection) ended() (ended, left bool) { return false, false }
