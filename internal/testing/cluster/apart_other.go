//go:build !linux

package cluster

import "testing"

// Apart runs the tests of this process, in the network that all programs share, and returns the exit status.
func Apart(m *testing.M) int { return m.Run() }
