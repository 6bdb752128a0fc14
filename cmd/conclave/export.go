package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"conclave/collection"
	"conclave/rank"

	"github.com/spf13/cobra"
)

func newExport(term terminal) *cobra.Command {
	var out, vectors string
	command := &cobra.Command{
		Use:   "export",
		Short: "Write all passages as JSON Lines, and their vectors",
		Long: `Writes the passages that searches see, one a line, in the order of their ids'
bytes: what 'conclave index' reads. With --vectors it writes the vectors of each
expert beside them, as EXPERT.npy: float32, a row for each line. Late interaction,
which has a list of vectors for each passage, is left out.`,
		Example: `  conclave export --collection my-index > passages.jsonl
  conclave export --collection my-index --out passages.jsonl --vectors vectors`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			config, err := settings(cmd, term)
			if err != nil {
				return err
			}
			c, err := collection.Open(config.Collection)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, c.Close()) }()
			g := c.Acquire()
			defer g.Release()
			to := term.Out
			if out != "" {
				file, err := os.OpenFile(out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, file.Close()) }()
				to = file
			}
			if err := exportPassages(cmd.Context(), g, to); err != nil || vectors == "" {
				return err
			}
			return exportVectors(cmd.Context(), g, vectors)
		},
	}
	addConfigFlags(command.Flags(), "collection")
	command.Flags().StringVar(&out, "out", "", "`file` to write, which must not be there yet; default: standard output")
	command.Flags().StringVar(&vectors, "vectors", "", "`folder` for the experts' vectors")
	return command
}

// eachPassage calls do with every passage, in the order of ids.
func eachPassage(ctx context.Context, g *collection.Generation, do func(rank.Ordinal) error) error {
	const page = 1000
	for after := ""; ; {
		ordinals, err := g.After(after, page)
		if err != nil || len(ordinals) == 0 {
			return err
		}
		for _, ordinal := range ordinals {
			if err := do(ordinal); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if after, err = g.ID(ordinals[len(ordinals)-1]); err != nil {
			return err
		}
	}
}

func exportPassages(ctx context.Context, g *collection.Generation, to io.Writer) error {
	w := bufio.NewWriter(to)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	err := eachPassage(ctx, g, func(ordinal rank.Ordinal) error {
		passage, err := g.Passage(ordinal)
		if err != nil {
			return err
		}
		return encoder.Encode(passage)
	})
	return errors.Join(err, w.Flush())
}

func exportVectors(ctx context.Context, g *collection.Generation, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, x := range g.Experts() {
		if x.Index.Kind == "late" {
			continue
		}
		if err := exportExpert(ctx, g, x, filepath.Join(folder, x.Name+".npy")); err != nil {
			return fmt.Errorf("vectors of %s: %w", x.Name, err)
		}
	}
	return nil
}

// exportExpert writes NumPy's format 1.0: a header that is padded to 64 bytes,
// and the numbers row by row, little-endian.
func exportExpert(ctx context.Context, g *collection.Generation, x collection.ExpertFiles, path string) (err error) {
	index, ok := g.Expert(x.Name)
	if !ok {
		return errors.New("the collection has none")
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriter(file)
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", g.Len(), x.Dimension)
	const before = 10 // magic, version and the header's length
	padded := (before+len(header)+1+63)/64*64 - before
	if _, err := w.WriteString("\x93NUMPY\x01\x00" + string([]byte{byte(padded), byte(padded >> 8)}) + fmt.Sprintf("%-*s\n", padded-1, header)); err != nil {
		return err
	}
	var row []byte
	err = eachPassage(ctx, g, func(ordinal rank.Ordinal) error {
		vector, err := index.Vector(ordinal)
		if err != nil {
			return err
		}
		row = row[:0]
		for _, number := range vector {
			row = binary.LittleEndian.AppendUint32(row, math.Float32bits(number))
		}
		_, err = w.Write(row)
		return err
	})
	return errors.Join(err, w.Flush())
}
