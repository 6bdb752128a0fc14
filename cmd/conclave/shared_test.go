package main

import (
	"testing"

	"example.org/conclave/cmd/internal/clitest"
)

// What the tests of both programs share, under short names.
var (
	both        = clitest.Both
	share       = clitest.Share
	write       = clitest.Write
	containsAll = clitest.ContainsAll
)

type judged = clitest.JudgedQuestion

const talesAsked, healthAsked = clitest.TalesAsked, clitest.HealthAsked

// running returns a function that runs one command line of conclave in the test.
func running(t *testing.T) clitest.Run {
	return func(args ...string) (int, string, string) { return conclave(t, args...) }
}

// calibratable makes the collection of clitest.Calibratable in a temporary folder, which becomes the present one.
func calibratable(t *testing.T) { clitest.Calibratable(t, running(t)) }

// alone returns the judged questions with the ranking of each source (clitest.Alone).
func alone(t *testing.T) []judged { return clitest.Alone(t, running(t)) }
