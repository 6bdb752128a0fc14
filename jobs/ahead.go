package jobs

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"sync"

	"conclave/collection"
	"conclave/corpus"
	"conclave/rank"
)

// Ahead is an encoder of passages that encodes ahead of time and keeps what it
// made in a file, by the passages' versions. What is interrupted goes on where
// it was, and what is encoded while nobody waits need not be encoded while
// everybody does.
//
// The file is a head and records, little-endian:
//
//	head    magic (4 bytes), dimension (4), length of the fingerprint (4), the fingerprint
//	record  version (16 bytes), the vector, CRC-32C of both (4)
//
// A record that was cut off by a crash is dropped when the file is opened, with
// all behind it. Nothing is synced: what is lost is encoded again.
type Ahead struct {
	collection.PassageEncoder
	path string

	mu    sync.RWMutex
	file  *os.File // nil after Close
	end   int64
	known map[version]int64 // where the record's vector lies
}

type version [16]byte

const aheadMagic = 0x44485441 // "ATHD"

// OpenAhead opens the file at path, or makes it. A file of another encoder is
// begun anew.
func OpenAhead(path string, encoder collection.PassageEncoder) (*Ahead, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	a := &Ahead{PassageEncoder: encoder, path: path, file: file, known: map[version]int64{}}
	if err := a.read(); err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", path, err), file.Close())
	}
	return a, nil
}

func (a *Ahead) head() []byte {
	fingerprint := a.Fingerprint()
	b := binary.LittleEndian.AppendUint32(nil, aheadMagic)
	b = binary.LittleEndian.AppendUint32(b, uint32(a.Dimension()))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(fingerprint)))
	return append(b, fingerprint...)
}

func (a *Ahead) recordSize() int { return len(version{}) + 4*a.Dimension() + 4 }

// read finds the records that are whole, and cuts off the rest.
func (a *Ahead) read() error {
	in := bufio.NewReaderSize(a.file, 1<<20)
	want := a.head()
	head := make([]byte, len(want))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != string(want) {
		if err := a.file.Truncate(0); err != nil {
			return err
		}
		_, err := a.file.WriteAt(want, 0)
		a.end = int64(len(want))
		return err
	}
	a.end = int64(len(want))
	record := make([]byte, a.recordSize())
	for {
		if _, err := io.ReadFull(in, record); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			return err
		}
		body := len(record) - 4
		if crc32.Checksum(record[:body], castagnoli()) != binary.LittleEndian.Uint32(record[body:]) {
			break
		}
		a.known[version(record)] = a.end + int64(len(version{}))
		a.end += int64(len(record))
	}
	return a.file.Truncate(a.end)
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // made once, by the library

// versionOf is a passage's version as 16 bytes.
func versionOf(p *corpus.Passage) (v version, err error) {
	text := p.Version()
	if n, err := hex.Decode(v[:], []byte(text)); n != len(v) || err != nil {
		return v, fmt.Errorf("passage %q has the version %q, which is not 16 bytes in hexadecimal", p.ID, text)
	}
	return v, nil
}

// EncodePassages implements collection.PassageEncoder: what is known is read,
// the rest is encoded and remembered.
func (a *Ahead) EncodePassages(ctx context.Context, passages []corpus.Passage) ([][]float32, error) {
	vectors := make([][]float32, len(passages))
	versions := make([]version, len(passages))
	var missing []int
	for i := range passages {
		var err error
		if versions[i], err = versionOf(&passages[i]); err != nil {
			return nil, err
		}
		if vectors[i], err = a.vector(versions[i]); err != nil {
			return nil, err
		}
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
	if len(made) != len(unknown) {
		return nil, fmt.Errorf("the encoder gave %d vectors for %d passages", len(made), len(unknown))
	}
	for n, i := range missing {
		if len(made[n]) != a.Dimension() {
			return nil, fmt.Errorf("the vector of passage %q has %d numbers, the expert says %d", passages[i].ID, len(made[n]), a.Dimension())
		}
		vectors[i] = made[n]
	}
	return vectors, a.keep(versions, vectors, missing)
}

// vector reads what is known of a version; nil when nothing is.
func (a *Ahead) vector(v version) ([]float32, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	at, ok := a.known[v]
	if !ok {
		return nil, nil
	}
	raw := make([]byte, 4*a.Dimension())
	if _, err := a.file.ReadAt(raw, at); err != nil {
		return nil, fmt.Errorf("reading a vector from %s: %w", a.path, err)
	}
	out := make([]float32, a.Dimension())
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out, nil
}

// keep appends the vectors at the given places.
func (a *Ahead) keep(versions []version, vectors [][]float32, places []int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return nil
	}
	records := make([]byte, 0, len(places)*a.recordSize())
	for _, i := range places {
		begin := len(records)
		records = append(records, versions[i][:]...)
		for _, x := range vectors[i] {
			records = binary.LittleEndian.AppendUint32(records, math.Float32bits(x))
		}
		records = binary.LittleEndian.AppendUint32(records, crc32.Checksum(records[begin:], castagnoli()))
	}
	if _, err := a.file.WriteAt(records, a.end); err != nil {
		return fmt.Errorf("keeping vectors in %s: %w", a.path, err)
	}
	for n, i := range places {
		a.known[versions[i]] = a.end + int64(n*a.recordSize()+len(version{}))
	}
	a.end += int64(len(records))
	return nil
}

// aheadBatch is how many passages are encoded at a time.
const aheadBatch = 256

// Encode makes the vectors of all passages of a generation that are not known
// yet, and says how many those were. Deleted passages are among them: an index
// has a place for each until their segment is merged.
func (a *Ahead) Encode(ctx context.Context, g *collection.Generation, report func(done, total int)) (encoded int, err error) {
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
		if batch = append(batch, p); len(batch) == aheadBatch {
			if err := flush(); err != nil {
				return encoded, err
			}
			report(o+1, total)
		}
	}
	if err := flush(); err != nil {
		return encoded, err
	}
	report(total, total)
	return encoded, nil
}

func (a *Ahead) size() int {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return len(a.known)
}

// Close ends the use of the file, and leaves it where it is. From then on every
// passage is encoded anew.
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
