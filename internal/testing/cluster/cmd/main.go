// Command cmd runs a cluster of OpenSearch on loopback until it is interrupted, to
// develop with: go run ./internal/testing/cluster/cmd. It prints the address of a store there.
// With -install it only fetches what a cluster consists of.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"example.org/conclave/internal/testing/cluster"
)

// main starts a cluster and prints its address, until it is interrupted. With -install it only fetches OpenSearch.
func main() {
	only := flag.Bool("install", false, "only fetch what a cluster consists of")
	nodes := flag.Int("nodes", 3, "how many nodes")
	index := flag.String("index", "passages", "index in the printed address; it is not made")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := start(ctx, *only, *nodes, *index, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// start starts a cluster, writes the address of index to to, and stops the cluster when ctx ends. If only is set, it
// just fetches OpenSearch. It fails if OpenSearch cannot be fetched or the cluster does not start. nodes is how many
// nodes it has.
func start(ctx context.Context, only bool, nodes int, index string, to io.Writer) error {
	if only {
		return cluster.Install(ctx)
	}
	c, err := cluster.Launch(ctx, os.TempDir(), nodes)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := fmt.Fprintln(to, c.Address(index)); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
