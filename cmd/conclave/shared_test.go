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

func running(t *testing.T) clitest.Run {
	return func(args ...string) (int, string, string) { return conclave(t, args...) }
}

func calibratable(t *testing.T) { clitest.Calibratable(t, running(t)) }

func alone(t *testing.T) []judged { return clitest.Alone(t, running(t)) }
