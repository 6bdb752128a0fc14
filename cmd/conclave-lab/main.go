// Command conclave-lab measures what the pages of evidence say: what each expert
// contributes, and how fast indexes and searches are beside their peers.
//
// What it shares with conclave is in cmd/internal/cli.
package main

import (
	"example.org/conclave/cmd/internal/cli"

	"github.com/spf13/cobra"
)

func main() { cli.Main(newRoot) }

// newRoot returns the command `conclave-lab` with all its subcommands; term is where they read and write.
func newRoot(term cli.Terminal) *cobra.Command {
	return cli.NewRoot(term, &cobra.Command{
		Use:   "conclave-lab",
		Short: "Measure what experts contribute, and how fast indexes and searches are",
		Long: `conclave-lab makes the figures of the documentation, on collections that conclave
indexed: it is no part of serving or searching.`,
	}, newAblate(term), newPools(term), newBench(term), newCalibrate(term))
}
