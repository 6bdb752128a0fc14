// Package ahead adds an expert to a collection that is searched and written to. It first encodes
// most passages into a file, while changes go on; only the rest holds them up.
package ahead

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"

	"example.org/conclave/ann"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// Ahead is an encoder of passages that keeps the vectors it computes in a file, by
// the passages' versions, and does not compute these again. So an interrupted run
// goes on where it was, and most vectors are there before the collection's changes
// have to wait for the rest.
//
// The file is a head and records, little-endian:
//
//	head    magic (4 bytes), dimension (4), length of the fingerprint (4), the fingerprint
//	record  version (16 bytes), how many numbers (4), the vector (ann.AppendRecord), CRC-32C of all (4)
//
// A vector takes the bytes that it takes in the collection. What is read back is not what the encoder gave, and makes
// the same collection, bit for bit.
//
// When the file is opened, it is truncated at the first record that a crash cut
// off. Nothing is synced: what is lost is encoded again.
type Ahead struct {
	store.PassageEncoder
	path string

	room func(bytes int64) bool // of OpenUnfinished; nil: of OpenAhead

	mu    sync.RWMutex
	file  *os.File // nil after Close
	end   int64
	known map[version]place
	full  bool // nothing more is kept
}

type version [16]byte

// place is where a record's vector lies, and how many numbers it has: those of
// late interaction differ in length.
type place struct {
	at      int64
	numbers int
}

const aheadMagic = 0x33485441 // "ATH3"

// OpenAhead opens the file of an encoder's vectors at path, or creates it. It empties a file that is of another
// encoder or damaged at its beginning, and truncates a file at its first damaged record. The caller closes it. It
// fails if the file cannot be opened, read or written.
func OpenAhead(path string, encoder store.PassageEncoder) (*Ahead, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	a := &Ahead{PassageEncoder: encoder, path: path, file: file, known: map[version]place{}}
	if err := a.load(); err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", path, err), file.Close())
	}
	return a, nil
}

// OpenUnfinished opens a file as OpenAhead does, for a process that encodes each passage once: what is added is for a
// later process, and takes no memory here. Before vectors are added, room is called with the bytes that the file then
// has. Once it returns false, or the file cannot be written, nothing more is kept, which is no error.
func OpenUnfinished(path string, encoder store.PassageEncoder, room func(bytes int64) bool) (*Ahead, error) {
	a, err := OpenAhead(path, encoder)
	if err == nil {
		a.room = room
	}
	return a, err
}

// Loaded returns how many vectors the file has of which this process knows: of OpenUnfinished, those of earlier ones.
func (a *Ahead) Loaded() int { return a.size() }

// Sparse reports whether the encoder's vectors are sparse (store.IsSparse).
func (a *Ahead) Sparse() bool { return store.IsSparse(a.PassageEncoder) }

// Unwrap returns the encoder of what the file does not have.
func (a *Ahead) Unwrap() store.PassageEncoder { return a.PassageEncoder }

// kind returns the kind of index whose precision the encoder's vectors are kept in. All kinds with one vector a passage
// keep the same.
func (a *Ahead) kind() string {
	switch {
	case a.Sparse():
		return ann.Sparse
	case a.Late():
		return ann.Late
	}
	return ann.Flat
}

// bytesOf returns how many bytes a vector of so many numbers takes in a record. It returns false if the encoder has no
// such vectors.
func (a *Ahead) bytesOf(numbers int) (bytes int, ok bool) {
	return ann.RecordBytes(a.kind(), numbers, a.Dimension())
}

// versionOf returns the version of a passage as 16 bytes. It fails if it is not written as 32 hexadecimal digits.
func versionOf(p *corpus.Passage) (v version, err error) {
	text := p.Version()
	if n, err := hex.Decode(v[:], []byte(text)); n != len(v) || err != nil {
		return v, fmt.Errorf("passage %q has the version %q, which is not 16 bytes in hexadecimal", p.ID, text)
	}
	return v, nil
}

// EncodePassages returns a vector for each passage, in their order: it reads those that the file has, encodes the
// others, and keeps these in the file. It fails if the encoder does, the collection would refuse a vector, or the file
// cannot be read or written. After
// Close it encodes all passages and keeps none.
func (a *Ahead) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	versions, vectors, err := a.lookUp(passages)
	if err != nil {
		return nil, err
	}
	var missing []int
	for i := range vectors {
		if vectors[i] == nil {
			missing = append(missing, i)
		}
	}
	if len(missing) == 0 {
		return vectors, ctx.Err()
	}
	unknown := make([]corpus.Passage, len(missing))
	for n, i := range missing {
		unknown[n] = passages[i]
	}
	made, err := a.PassageEncoder.EncodePassages(ctx, unknown)
	if err != nil {
		return nil, err
	}
	if err := a.fill(passages, vectors, made, missing); err != nil {
		return nil, err
	}
	return vectors, a.keep(versions, vectors, missing)
}

// lookUp returns the version of each passage, and its vector if the file has it, else nil. It fails if a version is not
// one or the file cannot be read.
func (a *Ahead) lookUp(passages []corpus.Passage) (versions []version, vectors [][]float32, err error) {
	versions, vectors = make([]version, len(passages)), make([][]float32, len(passages))
	for i := range passages {
		versions[i], err = versionOf(&passages[i])
		if err != nil {
			return nil, nil, err
		}
		vectors[i], err = a.vector(versions[i])
		if err != nil {
			return nil, nil, err
		}
	}
	return versions, vectors, nil
}

// fill puts the vectors that an encoder made for the passages with the indexes missing into vectors. It returns an
// error if there are not as many, or one has not the expert's dimension.
func (a *Ahead) fill(passages []corpus.Passage, vectors, made [][]float32, missing []int) error {
	if len(made) != len(missing) {
		return fmt.Errorf("the encoder gave %d vectors for %d passages", len(made), len(missing))
	}
	for n, i := range missing {
		if _, ok := a.bytesOf(len(made[n])); !ok {
			return fmt.Errorf(
				"the vector of passage %q has %d numbers, and the expert's vectors have %d", passages[i].ID,
				len(made[n]), a.Dimension(),
			)
		}
		vectors[i] = made[n]
	}
	return nil
}

// EncodeShared returns a function as encode (store.SharedPass), which encodes only passages of which the file of one of
// the experts lacks the vector, and keeps the vectors of both.
func EncodeShared(
	late, dense *Ahead, encode func(context.Context, []corpus.Passage) (late, dense [][]float32, err error),
) func(context.Context, []corpus.Passage) (late, dense [][]float32, err error) {
	return func(ctx context.Context, passages []corpus.Passage) (ofLate, ofDense [][]float32, err error) {
		versions, ofLate, err := late.lookUp(passages)
		if err != nil {
			return nil, nil, err
		}
		_, ofDense, err = dense.lookUp(passages)
		if err != nil {
			return nil, nil, err
		}
		var missing []int
		var unknown []corpus.Passage
		for i := range passages {
			if ofLate[i] == nil || ofDense[i] == nil {
				missing, unknown = append(missing, i), append(unknown, passages[i])
			}
		}
		if len(missing) == 0 {
			return ofLate, ofDense, ctx.Err()
		}
		madeLate, madeDense, err := encode(ctx, unknown)
		if err != nil {
			return nil, nil, err
		}
		err = errors.Join(
			late.fill(passages, ofLate, madeLate, missing), dense.fill(passages, ofDense, madeDense, missing),
		)
		if err == nil {
			err = errors.Join(late.keep(versions, ofLate, missing), dense.keep(versions, ofDense, missing))
		}
		return ofLate, ofDense, err
	}
}

// Windows returns the encoder's own windows of a passage (store.WindowReader), and whether it leaves text of the
// passage unread; nil and false if it has none.
func (a *Ahead) Windows(p corpus.Passage) ([]rank.Span, bool) {
	if r, ok := a.PassageEncoder.(store.WindowReader); ok {
		return r.Windows(p)
	}
	return nil, false
}

// aheadBatch is how many passages are encoded at a time.
const aheadBatch = 256

// Encode encodes the passages of a generation, or their parts, that are not in the file yet, and returns how many
// vectors it added. Deleted passages are among them, since an index has a place for each until their segment is
// merged. report is called after each batch and at the end with the passages done and in all. On an error, what was
// encoded before stays in the file.
func (a *Ahead) Encode(
	ctx context.Context,
	g *folder.Generation,
	report func(done, total int),
) (encoded int, err error) {
	total := g.Ordinals()
	batch := make([]corpus.Passage, 0, aheadBatch)
	flush := func() error {
		before := a.size()
		_, err := a.EncodePassages(ctx, batch)
		encoded += a.size() - before
		batch = batch[:0]
		return err
	}
	for o := range total {
		p, err := g.Stored(rank.Ordinal(o))
		if err != nil {
			return encoded, err
		}
		var parts []corpus.Passage
		windows := store.WindowsOf(a.PassageEncoder, p)
		if windows == nil {
			parts, _, err = store.Cut(a.PassageEncoder, p)
			if err != nil {
				return encoded, err
			}
		}
		for _, s := range windows {
			part := p
			part.Text = p.Text[s.Begin:s.End]
			parts = append(parts, part)
		}
		for _, part := range parts {
			batch = append(batch, part)
			if len(batch) == aheadBatch {
				if err := flush(); err != nil {
					return encoded, err
				}
				report(o+1, total)
			}
		}
	}
	if err := flush(); err != nil {
		return encoded, err
	}
	report(total, total)
	return encoded, nil
}

// size returns how many vectors the file has; 0 after Close.
func (a *Ahead) size() int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return len(a.known)
}

// Close closes the file and keeps it on the disk. From then on every passage is encoded. A second call returns nil. It
// fails if closing does.
func (a *Ahead) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return nil
	}
	err := a.file.Close()
	a.file, a.known = nil, nil
	return err
}
