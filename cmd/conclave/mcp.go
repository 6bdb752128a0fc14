package main

import (
	"path/filepath"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/handlers/adapters"
	"example.org/conclave/internal/assembly"

	"github.com/spf13/cobra"
)

// newMCP returns the command `conclave mcp`, which serves the Model Context Protocol on standard input and output.
func newMCP(terminal cli.Terminal) *cobra.Command {
	var server serverFlags
	command := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the Model Context Protocol on standard input and output",
		Long: `Speaks the Model Context Protocol on standard input and output. The program that
starts it can search the collection, or with --url that of a running server. A
server has the same tools at /mcp.`,
		Example: `  conclave mcp --collection my-index
  CONCLAVE_KEY=… conclave mcp --url https://search.example.org`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(terminal, func(cmd *cobra.Command, config configs.Config) error {
			if err := server.checkFlags(cmd.Flags()); err != nil {
				return err
			}
			if server.url == "" {
				return serveTools(cmd, config, terminal)
			}
			s, err := server.newClient(terminal.Environ)
			if err != nil {
				return err
			}
			return adapters.RelayTools(cmd.Context(), s.Address, s.Key, terminal.In, terminal.Out)
		}),
	}
	configs.AddFlags(command.Flags(), "collection", "store", "bundles", "encoder.provider")
	server.bindFlags(command.Flags())
	return command
}

// serveTools opens the configured collection and serves its tools by MCP over standard input and output until the input
// ends or the command is interrupted. It fails if the collection cannot be opened, and closes it when it returns.
func serveTools(cmd *cobra.Command, config configs.Config, terminal cli.Terminal) error {
	folder, err := filepath.Abs(config.Passages())
	if err != nil {
		return err
	}
	return cli.OpenCollection(config, terminal, false, func(l *assembly.Assembly) error {
		return adapters.ServeTools(cmd.Context(), l.Engine, filepath.Base(folder), terminal.In, terminal.Out)
	})
}
