// Command cmd runs a cluster of OpenSearch on loopback until it is interrupted, to
// develop with: go run ./internal/testing/cluster/cmd. With -install it only fetches what a
// cluster consists of.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"example.org/conclave/internal/testing/cluster"
)

func main() {
	only := flag.Bool("install", false, "only fetch what a cluster consists of")
	nodes := flag.Int("nodes", 3, "how many nodes")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := start(ctx, *only, *nodes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(ctx context.Context, only bool, nodes int) error {
	if only {
		return cluster.Install(ctx)
	}
	c, err := cluster.Launch(ctx, os.TempDir(), nodes)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Println(strings.Join(c.URLs, ","))
	<-ctx.Done()
	return nil
}
