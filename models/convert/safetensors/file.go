// Package safetensors reads weights in the safetensors format: eight bytes
// with the length of a JSON header, the header with each tensor's type, shape
// and place, then the elements, little-endian and without gaps.
// (github.com/huggingface/safetensors, "Format")
//
// Files come from strangers. Nothing is trusted: lengths are checked against
// the file before anything is allocated, and no input makes this package
// panic.
package safetensors

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"example.org/conclave/internal/disk"
)

// maxHeader is the largest number of bytes of a header, as in the reference implementation.
const maxHeader = 100_000_000

// metadataKey is the key of the metadata in the header, among the tensors' names.
const metadataKey = "__metadata__"

// Info describes a tensor.
type Info struct {
	Name  string
	Type  string // as in the file: F32, F16, BF16, I64, …
	Shape []int
	// Begin and End bound the elements, in bytes from the start of the file.
	Begin, End int64
}

// File is an open safetensors file. Reading it is safe for concurrent use.
type File struct {
	// Metadata is the file's free-form __metadata__.
	Metadata map[string]string
	// Path is where Open found the file.
	Path string

	source  io.ReaderAt
	closer  io.Closer
	tensors map[string]Info
	names   []string
}

// OpenCheckpoint opens the weights of a published checkpoint, the file model.safetensors in dir. The caller closes it.
// It fails if the file is damaged or missing. If dir has weights in another form instead, the error, which wraps
// fs.ErrNotExist, says how to convert them.
func OpenCheckpoint(dir string) (*File, error) {
	f, err := Open(filepath.Join(dir, "model.safetensors"))
	if errors.Is(err, os.ErrNotExist) {
		for name, hint := range map[string]string{
			"pytorch_model.bin":            "pytorch_model.bin is not read: load the model in transformers and save it again, which writes model.safetensors",
			"model.safetensors.index.json": "weights in several files are not read: load the model in transformers and save it again with a larger max_shard_size",
		} {
			if _, stat := os.Stat(filepath.Join(dir, name)); stat == nil {
				return nil, fmt.Errorf("%w; %s", err, hint)
			}
		}
	}
	return f, err
}

// Open opens the regular file at path and reads its header; values are read later. The caller closes it. It fails
// if the header is damaged or does not describe the whole file.
func Open(path string) (*File, error) {
	f, err := disk.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	var file *File
	if err == nil {
		file, err = New(f, info.Size())
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	file.Path, file.closer = path, f
	return file, nil
}

// New reads the header of a file of size bytes, from source, which the File keeps. Close does not close source. It
// fails if the header is damaged or does not describe the whole file.
func New(source io.ReaderAt, size int64) (*File, error) {
	var length [8]byte
	if size < 8 {
		return nil, fmt.Errorf("%d bytes are too few for a safetensors file", size)
	}
	if _, err := source.ReadAt(length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf(
			"the header is said to be %d bytes long in a file of %d: not a safetensors file, or cut short", n, size,
		)
	}
	header := make([]byte, n)
	if _, err := source.ReadAt(header, 8); err != nil {
		return nil, err
	}
	f := &File{source: source, tensors: map[string]Info{}}
	if err := f.parse(header, 8+int64(n), size); err != nil {
		return nil, fmt.Errorf("safetensors header: %w", err)
	}
	return f, nil
}

// Close closes the file of a File that Open returned; for one from New it does nothing and returns nil. It fails if
// closing does.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// Names returns the names of the tensors in the order of their places in the file; callers do not change it.
func (f *File) Names() []string { return f.names }

// Info returns the description of a tensor; false if there is none with the name.
func (f *File) Info(name string) (Info, bool) {
	info, ok := f.tensors[name]
	return info, ok
}

// parse sets the tensors, their names and the metadata of f from the JSON of its header. start is the offset of the
// data, size the length of the file. It fails if an entry is impossible, or tensors overlap, leave gaps or do not
// end where the file does.
func (f *File) parse(header []byte, start, size int64) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(header, &raw); err != nil {
		return err
	}
	var all []Info
	for name, value := range raw {
		if name == metadataKey {
			if err := json.Unmarshal(value, &f.Metadata); err != nil {
				return fmt.Errorf("%s: %w", metadataKey, err)
			}
			continue
		}
		info, err := placeTensor(name, value, start, size)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		f.tensors[name] = info
		all = append(all, info)
	}
	slices.SortFunc(all, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End), cmp.Compare(a.Name, b.Name))
	})
	next := start
	for _, info := range all {
		if info.Begin != next {
			return fmt.Errorf(
				"tensor %q begins at byte %d where %d was expected: tensors overlap or leave a gap", info.Name,
				info.Begin, next,
			)
		}
		next = info.End
		f.names = append(f.names, info.Name)
	}
	if next != size {
		return fmt.Errorf("the tensors end at byte %d of %d", next, size)
	}
	return nil
}

// placeTensor returns a tensor's description from its entry in the header. start and size are as for parse. It
// fails if the entry is incomplete, lies outside the file or does not fit its length; a type that is not known is
// accepted.
func placeTensor(name string, value json.RawMessage, start, size int64) (Info, error) {
	var e entry
	if err := json.Unmarshal(value, &e); err != nil {
		return Info{}, err
	}
	if e.Type == "" || e.Shape == nil || len(e.Offsets) != 2 {
		return Info{}, errors.New("dtype, shape or the two data_offsets are missing")
	}
	begin, end := e.Offsets[0], e.Offsets[1]
	if begin < 0 || end < begin || end > size-start {
		return Info{}, fmt.Errorf("data_offsets %v lie outside the %d bytes of data", e.Offsets, size-start)
	}
	if widths[e.Type] > 0 && bytesOf(e.Type, e.Shape) != end-begin {
		return Info{}, fmt.Errorf("%s %v does not fit its %d bytes", e.Type, e.Shape, end-begin)
	}
	return Info{Name: name, Type: e.Type, Shape: e.Shape, Begin: start + begin, End: start + end}, nil
}

// entry is a tensor's entry in the header.
type entry struct {
	Type    string  `json:"dtype"`
	Shape   []int   `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// widths has the bytes of an element, by type. Tensors of other types are skipped, and are an error when they are read.
var widths = map[string]int64{
	"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2,
	"I32": 4, "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8,
}

// bytesOf returns the number of bytes of a tensor; -1 if its type is unknown or the number is too large.
func bytesOf(kind string, shape []int) int64 {
	total := widths[kind]
	for _, d := range shape {
		if d < 0 || d > 0 && total > math.MaxInt64/int64(d) {
			return -1
		}
		total *= int64(d)
	}
	return total
}
