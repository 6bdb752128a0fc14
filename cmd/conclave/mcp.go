package main

import (
	"errors"
	"path/filepath"

	"conclave/adapters"
	"conclave/configs"
	"conclave/serving"

	"github.com/spf13/cobra"
)

func newMCP(terminal terminal) *cobra.Command {
	var address, key string
	command := &cobra.Command{
		Use:   "mcp",
		Short: "Let a language model's program search, over standard input and output",
		Long: `Speaks the Model Context Protocol on standard input and output: the program that
starts it can search the collection, or the one that a running server has. A
server has the same tools at /mcp.`,
		Example: `  conclave mcp --collection my-index
  CONCLAVE_KEY=… conclave mcp --url https://search.example.org`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			config, err := settings(cmd, terminal)
			if err != nil {
				return err
			}
			if address == "" {
				return serveTools(cmd, config, terminal)
			}
			if cmd.Flags().Changed("collection") {
				return usagef("--collection and --url exclude each other")
			}
			base, err := serverAddress(address)
			if err != nil {
				return err
			}
			if key == "" {
				key = configs.Variable(terminal.Environ, configs.VariableKey)
			}
			return adapters.RelayTools(cmd.Context(), base, key, terminal.In, terminal.Out)
		},
	}
	addConfigFlags(command.Flags(), "collection", "bundles", "encoder.provider")
	command.Flags().StringVar(&address, "url", "", "base `address` of a server whose collection is searched, instead of one here")
	command.Flags().StringVar(&key, "key", "", "API `key` for the server; better in $"+configs.VariableKey+", since others can see command lines")
	return command
}

// serveTools lets the program that started this one search a collection.
func serveTools(cmd *cobra.Command, config configs.Config, terminal terminal) error {
	folder, err := filepath.Abs(config.Collection)
	if err != nil {
		return err
	}
	l, err := serving.Assemble(serving.Options{Config: config, Log: newSaying(terminal.Err, config.Log), Observer: complaining{terminal.Err}})
	if err != nil {
		return err
	}
	err = adapters.ServeTools(cmd.Context(), l.Engine, filepath.Base(folder), terminal.In, terminal.Out)
	return errors.Join(err, l.Close())
}
