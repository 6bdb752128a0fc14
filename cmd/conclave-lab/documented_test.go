package main

import (
	"testing"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/cmd/internal/clitest"

	"github.com/spf13/cobra"
)

func TestDocumentedFlags(t *testing.T) {
	clitest.CheckDocumented(t, func() *cobra.Command { return newRoot(cli.Terminal{}) }, 10)
}
