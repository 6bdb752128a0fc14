package opensearch

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.org/conclave/internal/jobs/lease"
	"example.org/conclave/store/opensearch/cluster"
)

// Inputs keeps what jobs read, such as uploads, in registers of an index, so that any server can do a job, and loses
// nothing if the server that accepted it dies. An input is some chunks and a head, which is written last. A list names
// all inputs from before their first chunk is there until their last one is gone.
type Inputs struct {
	store *Store
	name  string // of the list
	beat  time.Duration
}

// inputChunk is how many bytes of an input one request carries, and inputPatience how long its
// writer waits for one who looks whether it is wanted.
const (
	inputChunk    = 4 << 20
	inputPatience = time.Minute
)

// Inputs returns the inputs that are in the list with a name. It makes no request.
func (s *Store) Inputs(name string) *Inputs { return &Inputs{store: s, name: name, beat: lease.Beat} }

// inputList is the content of the register that lists inputs.
type inputList struct {
	Names  []string `json:"names"`
	Change string   `json:"change"` // random, so that no two writings are the same
}

// inputHead is the content of an input's own register, by which it is whole.
type inputHead struct {
	Bytes int64 `json:"bytes"`
	Chunk int64 `json:"chunk"` // bytes of each chunk but the last one
}

// inputBytes is the content of a chunk's register.
type inputBytes struct {
	Bytes []byte `json:"bytes"`
}

// chunk returns the register of the chunk with a number of an input. n is that number, from 0.
func (i *Inputs) chunk(name string, n int64) *Register {
	return i.store.Register(name + "-" + strconv.FormatInt(n, 10))
}

// arriving returns the lease that a process holds while it writes an input.
func (i *Inputs) arriving(name string) lease.Lease {
	return lease.Lease{Register: i.store.Register(name + "-arriving"), Of: "the input " + name, Beat: i.beat}
}

// Keep stores what write writes under a new name that begins with prefix, and calls accept with the name when the
// cluster has all of it. If one of the two fails, nothing is kept, and its error is returned. Sweep removes what a
// crash leaves.
func (i *Inputs) Keep(
	ctx context.Context,
	prefix string,
	write func(io.Writer) error,
	accept func(name string) error,
) error {
	name := prefix + strings.ToLower(rand.Text())
	if err := i.setListed(ctx, name, true); err != nil {
		return err
	}
	err := i.arriving(name).Hold(ctx, "a writer", inputPatience, func(ctx context.Context) error {
		if err := i.setListed(ctx, name, true); err != nil { // again: somebody may have looked in between
			return err
		}
		w := &inputWriter{ctx: ctx, inputs: i, name: name}
		if err := write(w); err != nil {
			return errors.Join(w.err, err)
		}
		if err := w.finish(); err != nil {
			return err
		}
		return accept(name)
	})
	leaving, end := context.WithTimeout(context.WithoutCancel(ctx), cluster.Opening)
	defer end()
	if err != nil {
		_ = i.Remove(leaving, name) // else Sweep does
		return err
	}
	_ = i.store.Register(name+"-arriving").remove(leaving, "")
	return nil
}

// inputWriter writes an input in chunks.
type inputWriter struct {
	ctx    context.Context
	inputs *Inputs
	name   string
	chunk  []byte
	n      int64
	bytes  int64
	err    error
}

// Write adds bytes to the chunk in hand and sends each full one. It returns the error of the first chunk that could
// not be sent; after that it takes nothing.
func (w *inputWriter) Write(b []byte) (written int, err error) {
	for len(b) > 0 && w.err == nil {
		some := b[:min(len(b), inputChunk-len(w.chunk))]
		w.chunk = append(w.chunk, some...)
		b = b[len(some):]
		written += len(some)
		if len(w.chunk) == inputChunk {
			w.send()
		}
	}
	return written, w.err
}

// send writes the chunk in hand and begins the next one. The error is kept in w.err.
func (w *inputWriter) send() {
	data, err := json.Marshal(inputBytes{w.chunk})
	if err == nil {
		err = writeOnce(w.ctx, w.inputs.chunk(w.name, w.n), data)
	}
	w.bytes += int64(len(w.chunk))
	w.chunk = w.chunk[:0]
	w.n++
	w.err = err
}

// finish writes the last chunk and the head, after which the input can be opened. It returns the error of an earlier
// chunk, if one could not be written.
func (w *inputWriter) finish() error {
	if w.send(); w.err != nil {
		return w.err
	}
	data, err := json.Marshal(inputHead{Bytes: w.bytes, Chunk: inputChunk})
	if err != nil {
		return err
	}
	return writeOnce(w.ctx, w.inputs.store.Register(w.name), data)
}

// writeOnce writes data to a register that does not exist yet. Repeating the same write is no error. It fails if the
// register exists with other data, or the cluster does not answer.
func writeOnce(ctx context.Context, r *Register, data []byte) error {
	_, done, err := r.Write(ctx, data, "")
	if err == nil && !done {
		err = fmt.Errorf("%s of index %s is there already", r.name, r.beside.index)
	}
	return err
}

// setListed adds a name to the list of inputs, or takes it out if listed is false. It does nothing if the list has, or
// has not, the name already. It tries again when another process changes the list. It fails if the cluster does not
// answer.
func (i *Inputs) setListed(ctx context.Context, name string, listed bool) error {
	r := i.store.Register(i.name)
	for {
		l, version, err := i.read(ctx)
		if err != nil || slices.Contains(l.Names, name) == listed {
			return err
		}
		l.Names = slices.DeleteFunc(l.Names, func(n string) bool { return n == name })
		if listed {
			l.Names = append(l.Names, name)
		}
		l.Change = rand.Text()
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if _, done, err := r.Write(ctx, data, version); done || err != nil {
			return err
		}
	}
}

// read returns the list of inputs and the version of its register; the empty list and "" if there is none. It fails
// if the cluster does not answer or the register has something else.
func (i *Inputs) read(ctx context.Context) (l inputList, version string, err error) {
	data, version, err := i.store.Register(i.name).Read(ctx)
	if err == nil && version != "" {
		err = json.Unmarshal(data, &l)
	}
	return l, version, err
}

// Remove removes the chunks and the head of an input, and then its name from the list. It does nothing if there is
// none. After an interruption it may be called again: chunks go from the last one to the first. It fails if the cluster
// does, with some chunks removed.
func (i *Inputs) Remove(ctx context.Context, name string) error {
	n := int64(0)
	for {
		_, version, err := i.chunk(name, n).Read(ctx)
		if err != nil {
			return err
		}
		if version == "" {
			break
		}
		n++
	}
	errs := i.store.Register(name).remove(ctx, "")
	for n--; n >= 0 && errs == nil; n-- {
		errs = i.chunk(name, n).remove(ctx, "")
	}
	if errs == nil {
		errs = i.store.Register(name+"-arriving").remove(ctx, "")
	}
	if errs != nil {
		return errs
	}
	return i.setListed(ctx, name, false)
}

// Sweep removes the listed inputs that no process writes any more and for which wanted returns false. wanted is
// called again under the input's lease before it is removed. Errors of single inputs do not stop it; it returns them
// joined.
func (i *Inputs) Sweep(ctx context.Context, wanted func(ctx context.Context, name string) (bool, error)) error {
	l, _, err := i.read(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range l.Names {
		if is, err := wanted(ctx, name); is || err != nil {
			errs = append(errs, err)
			continue
		}
		unwanted := false
		err := i.arriving(name).Hold(ctx, "a look for what is left", 0, func(ctx context.Context) error {
			is, err := wanted(ctx, name) // it may have been accepted since
			unwanted = err == nil && !is
			return err
		})
		var held *lease.HeldError
		switch {
		case errors.As(err, &held):
		case err != nil:
			errs = append(errs, err)
		case unwanted:
			errs = append(errs, i.Remove(ctx, name))
		}
	}
	return errors.Join(errs...)
}

// Open returns a reader of an input, and the input's length in bytes. The reader fetches chunks from the cluster with
// ctx, so ctx must last as long as it is read. closes does nothing. The error is fs.ErrNotExist if the input does not
// exist or was not written to its end.
func (i *Inputs) Open(ctx context.Context, name string) (in io.ReaderAt, bytes int64, closes func() error, err error) {
	data, version, err := i.store.Register(name).Read(ctx)
	if err == nil && version == "" {
		err = fmt.Errorf("input %s: %w", name, fs.ErrNotExist)
	}
	r := &inputReader{ctx: ctx, inputs: i, name: name, at: -1}
	if err == nil {
		err = json.Unmarshal(data, &r.head)
	}
	if err == nil && r.head.Chunk < 1 {
		err = fmt.Errorf("input %s: %w", name, cluster.ErrAnswer)
	}
	return r, r.head.Bytes, func() error { return nil }, err
}

// inputReader reads an input, and keeps the chunk that it read last.
type inputReader struct {
	ctx    context.Context
	inputs *Inputs
	name   string
	head   inputHead

	mu   sync.Mutex
	at   int64 // number of the chunk that it has
	have []byte
}

// ReadAt reads bytes of the input from an offset on, like io.ReaderAt. It fails if a chunk is gone or too short.
func (r *inputReader) ReadAt(b []byte, from int64) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(b) {
		at := from + int64(n)
		if at >= r.head.Bytes {
			return n, io.EOF
		}
		if err := r.fetch(at / r.head.Chunk); err != nil {
			return n, err
		}
		within := at % r.head.Chunk
		if within >= int64(len(r.have)) {
			return n, fmt.Errorf("input %s ends after %d bytes, not %d", r.name, at, r.head.Bytes)
		}
		n += copy(b[n:], r.have[within:])
	}
	return n, nil
}

// fetch reads the chunk with a number, unless it is the one in hand. The error is fs.ErrNotExist if the chunk is not
// there. n is that number, from 0.
func (r *inputReader) fetch(n int64) error {
	if r.at == n {
		return nil
	}
	data, version, err := r.inputs.chunk(r.name, n).Read(r.ctx)
	var got inputBytes
	if err == nil && version == "" {
		err = fmt.Errorf("input %s, chunk %d: %w", r.name, n, fs.ErrNotExist)
	}
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	if err != nil {
		return err
	}
	r.at = n
	r.have = got.Bytes
	return nil
}

// remove removes a register if it has this version; whatever its version if version is "". It does nothing if there
// is none, or it has another version. It fails if the cluster does not answer.
func (r *Register) remove(ctx context.Context, version string) error {
	path := "/" + url.PathEscape(r.target()) + "/_doc/" + url.PathEscape(r.name) + "?timeout=20s"
	if version != "" {
		path += "&" + version
	}
	_, err := r.ask(ctx, "DELETE", path, nil)
	if cluster.IsStatus(err, 404) || version != "" && cluster.IsStatus(err, 409) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing %s of index %s: %w", r.name, r.beside.index, err)
	}
	return nil
}
