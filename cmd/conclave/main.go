// Command conclave finds the passages that answer a question, with many
// specialists instead of one generalist, and says how sure each of them is.
//
// Each subcommand is one small file here: flags to configuration, wiring, run. What it
// shares with conclave-lab is in cmd/internal/cli.
package main

import (
	"example.org/conclave/cmd/internal/cli"

	"github.com/spf13/cobra"
)

// version is the version of this source, which deploy/release/prepare sets. A build may set another
// (-ldflags "-X main.version=…").
var version = "0.1.0"

func main() { cli.Main(newRoot) }

// newRoot returns the command `conclave` with all its subcommands; term is where they read and write.
func newRoot(term cli.Terminal) *cobra.Command {
	return cli.NewRoot(term, &cobra.Command{
		Use:     "conclave",
		Version: version,
		Short:   "Find the passages that answer a question, and say how certain each expert is",
		Long: `conclave finds the passages that answer a question. Each expert encodes the
question and searches its own index; BM25 searches the words. The rankings are
fused by how certain each source is of this question.

Start with 'conclave demo'.`,
	},
		newSetup(term), newDemo(term), newDoctor(term),
		newRead(term), newReadFiles(term), newRunConfined(), newIndex(term), newSearch(term), newMCP(term), newServe(term),
		newEvaluate(term), newCalibrate(term),
		newSnapshot(term),
		newExport(term), newImport(term),
		newVerify(term),
		newModels(term),
		newHealthcheck(term),
		newVersion(term),
	)
}
