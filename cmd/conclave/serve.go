package main

import (
	"context"
	"errors"
	"net"
	"time"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/configs"
	"example.org/conclave/internal/server"
	"example.org/conclave/internal/tracing"

	"github.com/spf13/cobra"
)

// newServe returns the command `conclave serve`, which serves one or several collections over HTTP.
func newServe(term cli.Terminal) *cobra.Command {
	var printConfig bool
	var watch []string
	command := &cobra.Command{
		Use:   "serve",
		Short: "Serve a collection over HTTP, or several",
		Example: `  conclave serve --collection my-index
  conclave serve --collection my-index --listen 127.0.0.1:9000 --log-format json
  conclave serve --collection my-index --read-only         # beside a process that writes
  conclave serve --collection handbook --watch wiki/       # what is put there is found
  conclave serve --collection docs --watch https://docs.example.org/guide/
  conclave serve --data collections                        # all that are there, and those made over HTTP
  conclave serve --store opensearch+https://node1:9200/prefix-*   # the indexes with a prefix, a collection each
  conclave serve --print-config`,
		Args: cobra.NoArgs,
		RunE: cli.WithSettings(term, func(cmd *cobra.Command, config configs.Config) error {
			if printConfig {
				text, err := config.YAML()
				if err != nil {
					return err
				}
				_, err = term.Out.Write(text)
				return err
			}
			return serve(cmd.Context(), config, serving{watch: watch}, term, func(net.Addr) {})
		}),
	}
	configs.AddFlags(
		command.Flags(), "collection", "data", "store", "listen", "read_only", "documents.gitignore", "bundles",
		"encoder.provider", "encoder.threads", "search.fusion", "log.format", "log.questions",
	)
	command.Flags().StringArrayVar(&watch, "watch", nil,
		"`folder`, file or address of a website whose documents the collection follows while it is served; may be repeated")
	command.Flags().BoolVar(&printConfig, "print-config", false, "print the effective configuration, and stop")
	return command
}

// serving says what a server serves in addition to what the configuration says.
type serving struct {
	name  string   // the collection's for those who name it; "": its folder's
	watch []string // folders whose documents it follows
}

// serve runs a server with this configuration, and the name and followed folders in more, until ctx is done or the
// server fails. It calls ready with the server's address when questions are answered. It returns the failure, if there
// was one, and errors of closing. Everything that it opened is closed when it returns. It fails before ready is called
// if the collections cannot be opened or the address is taken.
func serve(
	ctx context.Context,
	config configs.Config,
	more serving,
	term cli.Terminal,
	ready func(net.Addr),
) (err error) {
	term.Ending.Allow(config.Server.DrainDelay + config.Server.DrainTimeout)
	log := cli.NewLogger(term.Err, config.Log)
	tracer, shut, err := tracing.Open(
		ctx, func(name string) string { return configs.Variable(term.Environ, name) }, log, version,
	)
	if err != nil {
		return err
	}
	defer func() {
		sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, shut(sending))
	}()
	readers, err := openReaders(config, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, readers.Close()) }()
	s, err := server.Open(
		ctx,
		server.ServerOptions{
			Config: config, Name: more.name, Log: log, Version: version, Tracer: tracer,
			Readers: readers, Watch: more.watch,
		},
	)
	if err != nil {
		return err
	}
	ready(s.Addr())
	<-s.Done()
	return s.Close()
}
