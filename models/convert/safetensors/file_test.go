package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// file puts a header before data, as the format says.
func file(header, data string) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func read(data []byte) (*File, error) { return New(bytes.NewReader(data), int64(len(data))) }

func TestValues(t *testing.T) {
	// By hand: 1.5 and -2 in each of the types; 2⁻²⁴, the smallest half; the
	// largest half.
	f, err := read(file(`{"__metadata__":{"format":"pt"},
		"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
		"b":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]},
		"c":{"dtype":"F16","shape":[2,2],"data_offsets":[12,20]},
		"d":{"dtype":"F32","shape":[0],"data_offsets":[20,20]},
		"e":{"dtype":"F16","shape":[],"data_offsets":[20,22]}}`,
		"\x00\x00\xc0\x3f\x00\x00\x00\xc0"+"\xc0\x3f\x00\xc0"+"\x00\x3e\x00\xc0\x01\x00\xff\x7b"+"\x00\x80"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		name   string
		shape  []int
		values []float32
	}{
		{"a", []int{2}, []float32{1.5, -2}},
		{"b", []int{1, 2}, []float32{1.5, -2}},
		{"c", []int{2, 2}, []float32{1.5, -2, 1.0 / (1 << 24), 65504}},
		{"d", []int{0}, []float32{}},
		{"e", nil, []float32{float32(math.Copysign(0, -1))}},
	} {
		got, err := f.Floats(want.name, want.shape...)
		if err != nil || !slices.Equal(got, want.values) {
			t.Errorf("%s: %v, %v; want %v", want.name, got, err, want.values)
		}
	}
	if got, _ := f.Floats("e"); !math.Signbit(float64(got[0])) {
		t.Error("the sign of -0 is lost")
	}
	if got := f.Names(); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
		t.Errorf("names %v", got)
	}
	if f.Metadata["format"] != "pt" {
		t.Errorf("metadata %v", f.Metadata)
	}
}

func TestErrorsNameTheTensor(t *testing.T) {
	f, err := read(
		file(
			`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"i":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},"n":{"dtype":"F32","shape":[1],"data_offsets":[16,20]}}`,
			strings.Repeat("\x00", 16)+"\x00\x00\x80\x7f",
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		shape []int
		want  string
	}{
		{"x", []int{2}, `tensor "x" is missing`},
		{"w", []int{3}, `tensor "w" has shape [2], not [3]`},
		{"w", []int{2, 1}, `tensor "w" has shape [2], not [2 1]`},
		{"i", []int{1}, `tensor "i" has type I64; F32, F16 and BF16 are read`},
		{"n", []int{1}, `tensor "n" has the value +Inf at element 0`},
	} {
		if _, err := f.Floats(c.name, c.shape...); err == nil || err.Error() != c.want {
			t.Errorf("%s %v: %v, want %s", c.name, c.shape, err, c.want)
		}
	}
}

func TestDamagedHeaders(t *testing.T) {
	eight := strings.Repeat("\x00", 8)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":            {nil, "too few"},
		"length too large": {binary.LittleEndian.AppendUint64(nil, math.MaxUint64), "cut short"},
		"length past end":  {append(binary.LittleEndian.AppendUint64(nil, 100), "{}"...), "cut short"},
		"no object":        {file(`[]`, ""), "array"},
		"more behind":      {file(`{} {}`, ""), "after top-level value"},
		"twice":            {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, eight), "gap"},
		"shape and bytes":  {file(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, eight), "does not fit"},
		"negative shape":   {file(`{"a":{"dtype":"F32","shape":[-2,-1],"data_offsets":[0,8]}}`, eight), "does not fit"},
		"overflow":         {file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8]}}`, eight), "does not fit"},
		"outside":          {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}`, eight), "outside"},
		"backwards":        {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, eight), "outside"},
		"overlap":          {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, eight), "overlap"},
		"gap":              {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, eight), "gap"},
		"rest":             {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, eight), "end at byte"},
		"no offsets":       {file(`{"a":{"dtype":"F32","shape":[1]}}`, eight), "missing"},
	} {
		if _, err := read(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want something with %q", name, err, c.want)
		}
	}
}

func TestOpenCheckpoint(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{"": "model.safetensors", "pytorch_model.bin": "pytorch_model.bin is not read", "model.safetensors.index.json": "in several files"} {
		dir := t.TempDir()
		if name != "" {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := OpenCheckpoint(dir); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), want) {
			t.Errorf("a folder with %q: %v, want something with %q", name, err, want)
		}
	}
	two := file(`{"two":{"dtype":"BF16","shape":[1,1],"data_offsets":[0,2]}}`, "\x00\x40")
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors"), two, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := OpenCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if v, err := f.Floats("two", 1, 1); err != nil || v[0] != 2 {
		t.Errorf("two is %v, %v", v, err)
	}
}

func FuzzNew(f *testing.F) {
	f.Add(
		file(
			`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F16","shape":[2],"data_offsets":[4,8]}}`,
			"\x00\x00\x80\x3f\x00\x3c\x00\x7c",
		),
	)
	f.Add(file(`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`, "1234"))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := read(data)
		if err != nil {
			return
		}
		for _, name := range s.Names() {
			info, _ := s.Info(name)
			shape := make([]int, len(info.Shape))
			for i, d := range info.Shape {
				shape[i] = int(d)
			}
			values, err := s.Floats(name, shape...)
			if err == nil && int64(len(values))*widths[info.Type] != info.End-info.Begin {
				t.Fatalf("%s: %d values of %d bytes", name, len(values), info.End-info.Begin)
			}
		}
	})
}
