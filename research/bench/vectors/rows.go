package vectors

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"strings"

	"github.com/x448/float16"
)

// Rows is an open file of vectors in a form that many programs use: little-endian numbers, row by row, without a
// header.
type Rows struct {
	file *os.File
	dim  int
	size int // bytes of a number
	path string
}

// openRows opens a file of rows of dim numbers: half precision if its name ends in .f16, single if in .f32. It fails
// for another name, and if the file is not of whole rows. The caller closes it.
func openRows(path string, dim int) (*Rows, error) {
	r := &Rows{dim: dim, path: path}
	switch {
	case dim < 1:
		return nil, fmt.Errorf("reading %s: the dimension is %d; say how many numbers a row has", path, dim)
	case strings.HasSuffix(path, ".f16"):
		r.size = 2
	case strings.HasSuffix(path, ".f32"):
		r.size = 4
	default:
		return nil, fmt.Errorf("reading %s: its name should end in .f16 or .f32, which says what is in it", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading vectors: %w", err)
	}
	info, err := file.Stat()
	if err == nil && info.Size()%int64(r.size*dim) != 0 {
		err = fmt.Errorf("%d bytes are no whole number of rows of %d numbers of %d bytes", info.Size(), dim, r.size)
	}
	if err != nil {
		_ = file.Close() // the first error is the one to tell
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	r.file = file
	return r, nil
}

// Close closes the file. It fails if closing does.
func (r *Rows) Close() error { return r.file.Close() }

// All yields each row once, from the current position on; a row is valid until the next one only. It ends after an
// error.
func (r *Rows) All() iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		in := bufio.NewReaderSize(r.file, 1<<20)
		raw, row := make([]byte, r.size*r.dim), make([]float32, r.dim)
		for {
			if _, err := io.ReadFull(in, raw); err == io.EOF {
				return
			} else if err != nil {
				yield(nil, fmt.Errorf("reading %s: %w", r.path, err))
				return
			}
			for i := range row {
				if r.size == 2 {
					row[i] = float16.Frombits(binary.LittleEndian.Uint16(raw[2*i:])).Float32()
				} else {
					row[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
				}
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// readVectors returns all numbers of a file of rows (openRows), row after row. It fails if the file cannot be opened
// or read. dim is the number of elements of a row.
func readVectors(path string, dim int) ([]float32, error) {
	rows, err := openRows(path, dim)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // only read
	var out []float32
	for row, err := range rows.All() {
		if err != nil {
			return nil, err
		}
		out = append(out, row...)
	}
	return out, nil
}
