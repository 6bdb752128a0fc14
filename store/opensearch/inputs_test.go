package opensearch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.org/conclave/bm25"
	"example.org/conclave/store"
	"example.org/conclave/store/opensearch/schema"
)

// TestInputs keeps what jobs read beside an index: what was kept is read by any server, byte for
// byte; what was refused, or whose writer died, is removed, and nothing that is wanted or on its way.
func TestInputs(t *testing.T) {
	t.Parallel()
	client := testClient(t)
	index := testIndex(t, client, "inputs")
	options := store.BuildOptions{
		Words: bm25.Params{K1: 0.9, B: 0.4}, Experts: []store.PassageEncoder{hashed{name: "plain"}},
	}
	given := &list{passages: passages(1, 3)}
	if _, err := Build(t.Context(), client, index, schema.Shape{Shards: 1}, given, options, ""); err != nil {
		t.Fatal(err)
	}
	open := func() *Inputs {
		s, err := Open(t.Context(), client, index)
		if err != nil {
			t.Fatal(err)
		}
		i := s.Inputs("in")
		i.beat = 200 * time.Millisecond
		return i
	}
	one, two := open(), open()
	random := rand.NewChaCha8([32]byte{1})
	keep := func(size int, accept func(string) error) (name string, data []byte, err error) {
		data = make([]byte, size)
		_, _ = random.Read(data)
		err = one.Keep(t.Context(), "upload-", func(w io.Writer) error {
			_, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{bytes.NewReader(data)}, make([]byte, 70_001))
			return err
		}, func(n string) error {
			name = n
			return accept(n)
		})
		return name, data, err
	}
	fine := func(string) error { return nil }
	wanted := map[string]bool{}
	for _, size := range []int{0, 1, inputChunk - 1, inputChunk, 2*inputChunk + 7} {
		name, data, err := keep(size, fine)
		if err != nil {
			t.Fatal(err)
		}
		in, n, closes, err := two.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(io.NewSectionReader(in, 0, n))
		if err != nil || n != int64(size) || !bytes.Equal(got, data) || closes() != nil {
			t.Errorf("of %d bytes: %d, %v", size, len(got), err)
		}
		wanted[name] = size != 1
	}
	full := errors.New("too many jobs")
	refused, _, err := keep(10, func(string) error { return full })
	if !errors.Is(err, full) {
		t.Error(err)
	}
	// A writer that dies: its context ends, and nothing is done any more.
	dying, die := context.WithCancel(t.Context())
	s, err := Open(t.Context(), client, index)
	if err != nil {
		t.Fatal(err)
	}
	dead := &inputWriter{ctx: dying, inputs: s.Inputs("in"), name: "upload-dead"}
	if err := dead.inputs.setListed(dying, dead.name, true); err != nil {
		t.Fatal(err)
	}
	if _, err := dead.Write(make([]byte, inputChunk+1)); err != nil {
		t.Fatal(err)
	}
	die()
	sweep := func() []string {
		t.Helper()
		is := func(_ context.Context, name string) (bool, error) { return wanted[name], nil }
		if err := two.Sweep(t.Context(), is); err != nil {
			t.Error(err)
		}
		l, _, err := two.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l.Names
	}
	name, _, err := keep(5, func(name string) error {
		if !slices.Contains(sweep(), name) {
			t.Error("what is on its way was removed")
		}
		wanted[name] = true
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if left := sweep(); len(left) != 5 || !slices.Contains(left, name) {
		t.Errorf("%v are left, wanted %v", left, wanted)
	}
	for _, gone := range []string{"upload-dead", refused} {
		if _, _, _, err := two.Open(t.Context(), gone); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", gone, err)
		}
		if _, version, err := two.chunk(gone, 0).Read(t.Context()); version != "" || err != nil {
			t.Errorf("a chunk of %s is left: %v", gone, err)
		}
	}
	clear(wanted)
	if left := sweep(); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
