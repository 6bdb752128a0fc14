package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// LogDamageError says that a file of the log is not as it was written. The program does
// not go on, since acknowledged changes would be lost.
type LogDamageError struct {
	File string
	Byte int // where it is wrong, or begins to be
	What string
}

// Error says where the file is damaged, and to restore a snapshot.
func (e *LogDamageError) Error() string {
	return fmt.Sprintf(
		"the log file %s is damaged at byte %d (%s), and changes in it were acknowledged: restore the collection from a snapshot",
		e.File, e.Byte, e.What,
	)
}

// damaged returns the *LogDamageError for an offset in the file. at is that offset, damage what is wrong there.
func (f *LogIdentity) damaged(at int, damage string) error {
	return &LogDamageError{File: f.Path, Byte: at, What: damage}
}

// logReader reads the records of a file.
type logReader struct {
	*LogIdentity
	Data []byte
	End  uint64    // the change that the next file begins with: from there on nothing counts
	Next uint64    // the number of the next change
	Held logRecord // the last one, until there is evidence that it was synced
}

// Read calls visit with each record of the file that is known to have been synced, in order. The last one is left in
// r.Held unless another file follows, which is evidence. It returns a *LogDamageError if an acknowledged change may be
// lost; a record that was cut off at the end is skipped.
func (r *logReader) Read(visit func(*logRecord) error) error {
	if err := r.checkHead(); err != nil {
		return err
	}
	for at := 1; r.Next < r.End; {
		record, err := r.recordAt(at)
		if err != nil {
			return err
		}
		if record == nil {
			break
		}
		at += sectorsOf(len(record))
		if err := visit(&r.Held); err != nil { // that another record begins is evidence
			return err
		}
		r.Held, err = r.changesOf(record, at-sectorsOf(len(record)))
		if err != nil {
			return err
		}
		r.Next += uint64(len(r.Held.Entries))
	}
	if r.Next > r.End {
		return r.damaged(0, fmt.Sprintf("it ends with change %d, but the next file begins with change %d", r.Next-1, r.End))
	}
	if r.End != ^uint64(0) { // so is another file
		err := visit(&r.Held)
		r.Held = logRecord{}
		return err
	}
	return nil
}

// checkHead returns an error if the head is damaged, or says that the file is of another collection or begins with
// another change.
func (r *logReader) checkHead() error {
	head := r.Data[:min(len(r.Data), ContentBytes)]
	switch state, wrong := r.sectorAt(r.Data, 0); state {
	case firstSector, laterSector:
	case wrongByte:
		return r.damaged(wrong, "a byte of its head is wrong")
	default:
		return r.damaged(0, "its head is missing")
	}
	if want := r.head(); !bytes.HasPrefix(head, want) {
		id := bytes.TrimRight(head[len(logMagic):len(want)-8], "\x00")
		return fmt.Errorf(
			"the log file %s is of collection %q from change %d on, where that of collection %q from change %d on belongs: it was put there from somewhere else; put its own one in its place, or restore the collection from a snapshot",
			r.Path, id, binary.LittleEndian.Uint64(head[len(want)-8:]), r.id, r.first,
		)
	}
	return nil
}

// recordAt returns the record that begins with sector number at; nil at the end of what was written. A broken record is
// an error if anything shows that it was acknowledged or once whole (judgeBroken).
func (r *logReader) recordAt(at int) ([]byte, error) {
	state, _ := r.sectorAt(r.Data, at)
	if state != firstSector {
		return nil, r.judgeBroken(at, at)
	}
	head := r.Data[at*SectorBytes:]
	length := binary.LittleEndian.Uint32(head[4:])
	first := binary.LittleEndian.Uint64(head[8:])
	if binary.LittleEndian.Uint32(head) != recordMagic || length > maxRecord || first != r.Next {
		return nil, r.damaged(
			at*SectorBytes,
			fmt.Sprintf("a record of %d bytes from change %d on stands where change %d belongs", length, first, r.Next),
		)
	}
	size := RecordHeader + int(length)
	sectors := sectorsOf(size)
	record := make([]byte, 0, min(sectors*SectorBytes, len(r.Data)))
	for i := at; i < at+sectors; i++ {
		if state, _ := r.sectorAt(r.Data, i); state != laterSector && (i > at || state != firstSector) {
			return nil, r.judgeBroken(at, i)
		}
		record = append(record, r.Data[i*SectorBytes:i*SectorBytes+ContentBytes]...)
	}
	return record[:size], nil
}

// judgeBroken decides about a record that begins with sector number at and is broken from another sector on. It returns
// a *LogDamageError for damage, and nil for a write that was cut off by a crash.
func (r *logReader) judgeBroken(at, from int) error {
	if state, wrong := r.sectorAt(r.Data, from); state == wrongByte {
		return r.damaged(wrong, "a byte is wrong")
	}
	if at == 1 {
		return r.damaged(from*SectorBytes, "its first record is not whole, which it was before the file had its name")
	}
	if r.End != ^uint64(0) {
		return r.damaged(
			from*SectorBytes,
			fmt.Sprintf(
				"its changes end with %d, but the next file begins with %d: its end is missing, or a file in between",
				r.Next-1, r.End,
			),
		)
	}
	for i := at; i*SectorBytes < len(r.Data); i++ {
		switch state, wrong := r.sectorAt(r.Data, i); {
		case state == wrongByte:
			return r.damaged(wrong, "a byte is wrong")
		case state == firstSector && i > at:
			return r.damaged(from*SectorBytes, "a record is not whole, and another one follows")
		}
	}
	return nil
}

// changesOf returns the changes of a record that begins with this sector. It fails if its content is not such a list.
func (r *logReader) changesOf(record []byte, sector int) (logRecord, error) {
	out := logRecord{First: r.Next}
	count := binary.LittleEndian.Uint32(record[16:])
	body := record[RecordHeader:]
	offset := int64(sector) * ContentBytes
	err := eachChange(body, int(count), func(kind Kind, content []byte, at int) {
		out.Entries = append(out.Entries, Change{kind, content})
		out.places = append(
			out.places,
			ContentPlace{File: r.LogIdentity, offset: offset + int64(RecordHeader+at), Length: len(content)},
		)
	})
	if err != nil {
		return out, r.damaged(sector*SectorBytes, err.Error())
	}
	return out, nil
}

// eachChange calls visit with each of count changes in a record's body, and its offset there. It fails if the body does
// not have exactly these.
func eachChange(body []byte, count int, visit func(kind Kind, content []byte, offset int)) error {
	at := 0
	for range count {
		if at >= len(body) {
			return errors.New("a record has fewer changes than it says")
		}
		kind := Kind(body[at])
		length, used := binary.Uvarint(body[at+1:])
		if used <= 0 || length > uint64(len(body)-at-1-used) {
			return errors.New("a change's length is wrong")
		}
		at += 1 + used
		if k := kind.Alone(); k != Put && k != Delete {
			return fmt.Errorf("a change of kind %d, which this program does not know", kind)
		}
		visit(kind, body[at:at+int(length)], at)
		at += int(length)
	}
	if at != len(body) {
		return errors.New("a record has more in it than its changes")
	}
	return nil
}
