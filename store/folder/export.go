package folder

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
	"slices"

	"example.org/conclave/ann"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store/folder/internal/manifest"
)

// eachPassage calls do with the ordinal of every selected passage, in the order of ids. It stops when do
// fails or ctx ends, and returns that error. The selection has to be of this generation.
func (g *Generation) eachPassage(ctx context.Context, selected *Selection, do func(rank.Ordinal) error) error {
	return eachByID(g.segments, "", func(at origin) (bool, error) {
		if chosen := selected.segments[at.segment].filter; chosen != nil && !chosen.Contains(at.ordinal) {
			return true, ctx.Err()
		}
		return true, errors.Join(do(g.segments[at.segment].base+at.ordinal), ctx.Err())
	})
}

// ExportPassages writes the passages of a selection (SelectWhere) to to, as JSON Lines in the order of their ids. It
// fails if the selection is of another generation.
func (g *Generation) ExportPassages(ctx context.Context, to io.Writer, selected *Selection) error {
	if err := selected.checkGeneration(g); err != nil {
		return err
	}
	w := bufio.NewWriter(to)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	err := g.eachPassage(ctx, selected, func(ordinal rank.Ordinal) error {
		passage, err := g.Passage(ordinal)
		if err != nil {
			return err
		}
		return encoder.Encode(passage)
	})
	return errors.Join(err, w.Flush())
}

// ExportVectors writes the vectors of each expert into a folder as EXPERT.npy: float32, a row for each line of
// ExportPassages. If passages have several vectors, the rows of one follow those of the other, and EXPERT.parts.npy has
// for each row the line, from 0, and the bytes of the text at which the part begins and ends, in uint32. Left out are
// late and sparse experts, which have a list of vectors for each passage, and experts that search the vectors of
// another. A passage that an expert left out has a row of zeros, or none where it has parts. It fails if a file exists.
func (g *Generation) ExportVectors(ctx context.Context, folder string, selected *Selection) error {
	if err := selected.checkGeneration(g); err != nil {
		return err
	}
	if err := disk.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, x := range g.manifest.Keepers() {
		if x.Index.Kind == ann.Late || x.Index.Kind == ann.Sparse {
			continue
		}
		if err := g.exportExpert(ctx, x, folder, selected); err != nil {
			return fmt.Errorf("vectors of %s: %w", x.Name, err)
		}
	}
	return nil
}

// exportExpert writes the vectors of one expert, and their parts if it has these, into a folder. See ExportVectors.
// It fails if a file exists or cannot be written, or the vectors are damaged.
func (g *Generation) exportExpert(ctx context.Context, x manifest.Expert, folder string, selected *Selection) error {
	index, ok := g.Expert(x.Name)
	if !ok {
		return errors.New("the collection has none")
	}
	rows := selected.Len()
	if x.Parts {
		var parts []byte
		rows = 0
		line := uint32(0)
		err := g.eachPassage(ctx, selected, func(ordinal rank.Ordinal) error {
			spans, err := index.Spans(ordinal)
			for _, s := range spans {
				for _, number := range [...]uint32{line, s.Begin, s.End} {
					parts = binary.LittleEndian.AppendUint32(parts, number)
				}
			}
			rows, line = rows+len(spans), line+1
			return err
		})
		if err != nil {
			return err
		}
		if err := exportArray(filepath.Join(folder, x.Name+".parts.npy"), "<u4", rows, 3, func(w io.Writer) error {
			_, err := w.Write(parts)
			return err
		}); err != nil {
			return err
		}
	}
	return exportArray(filepath.Join(folder, x.Name+".npy"), "<f4", rows, x.Dimension, func(w io.Writer) error {
		var row []byte
		return g.eachPassage(ctx, selected, func(ordinal rank.Ordinal) error {
			vector, err := index.Vector(ordinal)
			if err != nil {
				return err
			}
			if !x.Parts {
				// of a long passage the first window's
				vector = slices.Concat(vector, make([]float32, x.Dimension))[:x.Dimension]
			}
			row = row[:0]
			for _, number := range vector {
				row = binary.LittleEndian.AppendUint32(row, math.Float32bits(number))
			}
			_, err = w.Write(row)
			return err
		})
	})
}

// exportArray writes a new file in NumPy's format 1.0. number is the type of elements in NumPy's notation, such as
// <f4; write writes them row by row, little-endian. It fails if the file exists. rows and columns are the size of the
// array.
func exportArray(path, number string, rows, columns int, write func(io.Writer) error) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriter(file)
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", number, rows, columns)
	const before = 10 // magic, version and the header's length
	padded := (before+len(header)+1+63)/64*64 - before
	if _, err := w.WriteString("\x93NUMPY\x01\x00" + string([]byte{byte(padded),
		byte(padded >> 8)}) + fmt.Sprintf("%-*s\n", padded-1, header)); err != nil {
		return err
	}
	return errors.Join(write(w), w.Flush())
}
