package main

import (
	"fmt"

	"example.org/conclave/cmd/internal/cli"
	"example.org/conclave/research/bench/vectors"

	"github.com/spf13/cobra"
)

// generatedQueries is how many queries are made for generated vectors.
const generatedQueries = 1000

// newBenchVectors returns the command `conclave-lab bench ann`, which measures a vector index. With --generate it makes
// the files to measure instead.
func newBenchVectors(term cli.Terminal) *cobra.Command {
	var o vectors.Trial
	var generate int
	var filters, asJSON bool
	var columns string
	shares := vectors.DefaultSelectivities()
	command := &cobra.Command{
		Use:   "ann",
		Short: "Measure a vector index: one thread, one query at a time, top 100",
		Long: `Builds an index of the vectors and asks it every query, for several values of
efSearch, beside exact search. Vectors and queries are files of rows without a
header, little-endian: float16 (the name ends in .f16) or float32 (.f32). --truth
names a file of the 100 nearest rows of each query (int32, little-endian); without
it they are computed first. --filters measures speed and recall of searches that
are limited to a share of the vectors instead: random ones, those nearest to the
query, those furthest from it, and those near another vector. --columns answers
filtered searches that research/bench/vectors/filtered.py asks for.`,
		Example: `  conclave-lab bench ann --vectors passages.f16 --queries questions.f16 --dim 384 --json
  conclave-lab bench ann --vectors passages.f16 --queries questions.f16 --dim 384 --ef 300 --filters
  conclave-lab bench ann --generate 100000 --vectors v.f16 --queries q.f16 --dim 384      # makes these files`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Vectors == "" || o.Dim < 1 {
				return cli.Usagef("--vectors and --dim are needed")
			}
			if generate > 0 {
				err := vectors.Generate(o.Vectors, generate, o.Dim, o.Build.Seed, 0)
				if err == nil && o.Queries != "" {
					err = vectors.Generate(o.Queries, generatedQueries, o.Dim, o.Build.Seed, generate)
				}
				return err
			}
			if o.Queries == "" {
				return cli.Usagef("--queries is needed")
			}
			if err := o.Check(); err != nil {
				return cli.UsageError{Err: err}
			}
			if columns != "" {
				return vectors.AnswerFiltered(cmd.Context(), o, columns, term.In, term.Out)
			}
			if filters {
				points, err := vectors.RunFilters(cmd.Context(), o, shares)
				if err != nil {
					return err
				}
				return cli.Show(term.Out, asJSON, points, func(w *cli.ErrWriter) { w.Err = vectors.PrintFilters(w.Out, points) })
			}
			r, err := vectors.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			return cli.Show(term.Out, asJSON, r, func(w *cli.ErrWriter) { w.Err = r.Print(w.Out) })
		},
	}
	flags := command.Flags()
	flags.Float64SliceVar(&shares, "shares", shares, "with --filters, the shares that filters let through")
	flags.StringVar(&o.Vectors, "vectors", "", "`file` of vectors")
	flags.StringVar(&o.Queries, "queries", "", "`file` of query vectors")
	flags.StringVar(&o.Truth, "truth", "", "`file` of the nearest rows of each query")
	flags.IntVar(&o.Dim, "dim", 0, "numbers of a vector")
	flags.StringVar(&o.Kind, "index", "hnsw", "kind of index: hnsw, flat or coder")
	flags.IntSliceVar(&o.Ef, "ef", nil, fmt.Sprintf("values of efSearch (default %v)", vectors.DefaultEf()))
	flags.IntVar(&o.Build.M, "m", 0, "neighbours of each node (0: the default of the kind)")
	flags.IntVar(
		&o.Build.EfConstruction, "ef-construction", 0,
		"candidates compared for each node while building (0: the default of the kind)",
	)
	flags.IntVar(&o.Build.Threads, "threads", 0, "threads that build (0: all processors)")
	flags.Uint64Var(&o.Build.Seed, "seed", 0, "seed of the graph")
	flags.IntVar(&o.Passes, "passes", 5, "how often all queries are asked")
	flags.StringVar(&o.Folder, "folder", "", "`folder` to keep the index in, and to read it from if it exists")
	flags.IntVar(
		&generate, "generate", 0,
		"write this many clustered vectors to --vectors, a thousand more to --queries, and stop",
	)
	flags.BoolVar(
		&filters, "filters", false, "measure searches that are limited to a share of the vectors, with the first --ef",
	)
	flags.StringVar(&columns, "columns", "", "`file` of columns of numbers (int32), by which standard input asks for searches")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return command
}
