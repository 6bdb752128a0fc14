package ahead

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"example.org/conclave/ann"
	"example.org/conclave/store"
)

// head returns the bytes that a file of this encoder's vectors begins with: a magic number, the dimension and the
// encoder's fingerprint.
func (a *Ahead) head() []byte {
	fingerprint := a.Fingerprint()
	b := binary.LittleEndian.AppendUint32(nil, aheadMagic)
	b = binary.LittleEndian.AppendUint32(b, uint32(a.Dimension()))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(fingerprint)))
	return append(b, fingerprint...)
}

const recordHead, recordTail = len(version{}) + 4, 4

// load sets a.known to the places of the vectors in the file, and truncates the file at the first record that is cut
// off or damaged. If the file does not begin with the head of this encoder, load empties it and writes the head. It
// fails if the file cannot be read or written.
func (a *Ahead) load() error {
	in := bufio.NewReaderSize(a.file, 1<<20)
	head := a.readHead(in)
	if head == 0 {
		if err := a.file.Truncate(0); err != nil {
			return err
		}
		want := a.head()
		_, err := a.file.WriteAt(want, 0)
		a.end = int64(len(want))
		return err
	}
	a.end = head
	var record []byte
	for {
		var err error
		record, err = a.nextRecord(in, record)
		if err != nil {
			return err
		}
		if record == nil {
			return a.file.Truncate(a.end)
		}
		a.known[version(record)] = place{a.end + int64(recordHead), numbersOf(record)}
		a.end += int64(len(record))
	}
}

// numbersOf returns how many numbers the vector of a record has, from its head.
func numbersOf(record []byte) int { return int(binary.LittleEndian.Uint32(record[len(version{}):])) }

// mostFingerprint is the largest number of bytes of a fingerprint in a file. One with more is damaged.
const mostFingerprint = 4096

// readHead reads the head of a file and returns its length; 0 if the file is of another encoder, damaged or empty.
func (a *Ahead) readHead(in io.Reader) int64 {
	fixed := make([]byte, 12)
	if _, err := io.ReadFull(in, fixed); err != nil || string(fixed[:8]) != string(a.head()[:8]) {
		return 0
	}
	length := binary.LittleEndian.Uint32(fixed[8:])
	if length > mostFingerprint {
		return 0
	}
	fingerprint := make([]byte, length)
	if _, err := io.ReadFull(in, fingerprint); err != nil {
		return 0
	}
	if string(fingerprint) != a.Fingerprint() {
		same, ok := a.PassageEncoder.(store.Continuing)
		if !ok || !same.Continues(string(fingerprint)) {
			return 0
		}
	}
	return int64(len(fixed) + len(fingerprint))
}

// nextRecord returns the next record with its head and checksum, in memory's array if that is large enough. It returns
// nil without an error at the end of the file and at a record that is cut off or damaged.
func (a *Ahead) nextRecord(in io.Reader, memory []byte) ([]byte, error) {
	record := append(memory[:0], make([]byte, recordHead)...)
	if _, err := io.ReadFull(in, record); err != nil {
		return nil, ignoreCut(err)
	}
	size, ok := a.bytesOf(numbersOf(record))
	if !ok {
		return nil, nil
	}
	record = append(record, make([]byte, size+recordTail)...)
	if _, err := io.ReadFull(in, record[recordHead:]); err != nil {
		return nil, ignoreCut(err)
	}
	body := len(record) - recordTail
	if crc32.Checksum(record[:body], castagnoli()) != binary.LittleEndian.Uint32(record[body:]) {
		return nil, nil
	}
	return record, nil
}

// ignoreCut returns nil for an error that says that a file ended, and any other error as it is.
func ignoreCut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// castagnoli returns the table for CRC-32C checksums.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // made once, by the library

// vector reads the vector of a version; nil without an error if the file has none. It fails if the file cannot be read.
func (a *Ahead) vector(v version) ([]float32, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	at, ok := a.known[v]
	if !ok {
		return nil, nil
	}
	size, _ := a.bytesOf(at.numbers) // load or keep has asked
	record := make([]byte, size)
	if _, err := a.file.ReadAt(record, at.at); err != nil {
		return nil, fmt.Errorf("reading a vector from %s: %w", a.path, err)
	}
	return ann.DecodeRecord(record, a.kind(), at.numbers, a.Dimension())
}

// keep appends the vectors with the given indexes to the file, under the versions with the same indexes. It does
// nothing after Close, and once the file is full (OpenUnfinished). It fails if a collection would refuse a vector
// (ann.AppendRecord), or the file of OpenAhead cannot be written; then none of them counts.
func (a *Ahead) keep(versions []version, vectors [][]float32, places []int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil || a.full {
		return nil
	}
	var records []byte
	made := make([]place, len(places))
	for n, i := range places {
		begin := len(records)
		records = append(records, versions[i][:]...)
		head := len(records)
		records = append(records, make([]byte, recordHead-len(version{}))...)
		made[n].at = a.end + int64(len(records))
		var err error
		records, made[n].numbers, err = ann.AppendRecord(records, a.kind(), vectors[i], a.Dimension())
		if err != nil {
			return fmt.Errorf("keeping vectors in %s: %w", a.path, err)
		}
		binary.LittleEndian.PutUint32(records[head:], uint32(made[n].numbers))
		records = binary.LittleEndian.AppendUint32(records, crc32.Checksum(records[begin:], castagnoli()))
	}
	if a.room != nil && !a.room(a.end+int64(len(records))) {
		a.full = true
		return nil
	}
	if _, err := a.file.WriteAt(records, a.end); err != nil {
		a.full = a.room != nil
		if a.full {
			return nil // the next record of a later process is written over what is there of these
		}
		return fmt.Errorf("keeping vectors in %s: %w", a.path, err)
	}
	if a.room == nil {
		for n, i := range places {
			a.known[versions[i]] = made[n]
		}
	}
	a.end += int64(len(records))
	return nil
}
