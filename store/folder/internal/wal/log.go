// Package wal is the write-ahead log of a collection. It keeps changes that were acknowledged and are not yet in a
// segment. It is a folder of files, each named for the number of its first change; changes are numbered from 1 without
// gaps for as long as the collection lives.
//
// A file is sectors (see SectorBytes) and begins with a head: logMagic, the
// collection's id, and the number of the first change (uint64). Records follow,
// one for each group of changes that was committed together, little-endian:
//
//	magic     uint32
//	length    uint32, of the body
//	first     uint64, the number of the first change
//	count     uint32, how many changes
//	body      each change: kind (1 byte), length (varint), content
//
// # What was acknowledged
//
// A record is written at once and synced before any of its changes is
// acknowledged, and no other record is written before that. So the beginning of
// a later record in the same file is evidence that the ones before it were
// synced, and so is another file that begins with a later change. When no change
// comes for a while, a record without changes is appended, as evidence alone. It
// is not synced: the page cache keeps it until the next sync. The first record of
// a file is written and synced before the file gets its name, and is evidence of
// itself.
//
// If a record with evidence is not whole, the file is damaged. A record without
// evidence is the last of all, written just before a power cut; its changes may
// have been acknowledged or not. Its sectors show which: those that a cut write
// did not reach are as they were before. If a sector is right but for one byte,
// the file is damaged; otherwise the write was cut, and its changes were not
// acknowledged. One loss is not noticed: the last record is damaged by more than
// a byte, and the power was cut before its evidence was on the disk.
//
// # When a write or a sync fails
//
// It is then unknown which part of the record is on the disk. A second sync does not
// help: the system may have dropped what it could not write. That file is never written
// again. The next record begins a new file with the number of the failed one.
// Changes in a file whose numbers are those of the next file or higher were never
// acknowledged and do not count. A last record without evidence is treated alike
// when a log is opened: its sync may have failed, so it is written and synced
// again, in a new file, before its changes are visible.
package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
)

// Names and numbers of the files of a log.
const (
	Folder       = "wal"
	logMagic     = "conclave log 2\n\x00"
	logMaking    = "tmp-log" // a file before it has its name
	recordMagic  = 0x474f4c43
	RecordHeader = 20
	maxRecord    = 64 << 20
)

type Kind byte

const (
	Put    Kind = 1 // content: a passage's record
	Delete Kind = 2 // content: an id
	// Joined is added to the kind of a change that becomes visible together with the
	// next change, which is in the same record.
	Joined Kind = 0x80
)

// ContentPlace is the place of a change's content in the log: a file, an offset and a length.
type ContentPlace struct {
	File   *LogIdentity
	offset int64 // in the sectors' contents
	Length int
}

// Log is a log that is open for appending; a collection has at most one. Its methods
// must be called by one goroutine at a time.
type Log struct {
	disk      disk.Disk
	Dir       string // the log's folder
	id        string // the collection's
	Next      uint64 // the number of the next change
	rooted    bool   // the folder is there, durably
	File      disk.File
	Of        *LogIdentity // file's
	sectors   int          // written to it
	holds     bool         // something in it was acknowledged
	confirmed bool         // its last change is followed by evidence
	full      []fullFile
}

// fullFile is a file that is no longer appended to.
type fullFile struct {
	path string
	last uint64 // its last change
}

// LogName returns the name of the log's file whose first change has this number.
func LogName(first uint64) string { return fmt.Sprintf("%020d.log", first) }

// Change is a change to append to the log.
type Change struct {
	Kind    Kind
	Content []byte
}

// Append makes changes durable as one record and returns where each content lies. If it fails, none of them counts,
// and the next record begins a new file; it fails at once if the changes are more than a record can hold. Without
// entries it only finds out whether the disk can be written.
func (l *Log) Append(entries []Change) ([]ContentPlace, error) {
	record := make([]byte, RecordHeader, 4096)
	offsets := make([]int, len(entries))
	for i, e := range entries {
		record = append(record, byte(e.Kind))
		record = binary.AppendUvarint(record, uint64(len(e.Content)))
		offsets[i] = len(record)
		record = append(record, e.Content...)
	}
	if len(record) > maxRecord {
		return nil, fmt.Errorf("a group of changes has %d bytes, %d are allowed", len(record), maxRecord)
	}
	putRecordHeader(record, l.Next, len(entries))
	named := l.File != nil
	if !named {
		if err := l.create(); err != nil {
			return nil, disk.Explain(fmt.Errorf("beginning a file of the log in %s: %w", l.Dir, err))
		}
	}
	at, err := l.write(record)
	if err == nil {
		err = l.File.Sync()
	}
	if err == nil && !named {
		err = l.disk.Rename(filepath.Join(l.Dir, logMaking), l.Of.Path)
		if err == nil {
			err = l.disk.SyncDir(l.Dir)
		}
	}
	if err != nil {
		err = disk.Explain(fmt.Errorf("writing the log %s: %w", l.Of.Path, err))
		l.abandon()
		return nil, err
	}
	places := make([]ContentPlace, len(entries))
	for i, e := range entries {
		places[i] = ContentPlace{File: l.Of, offset: int64(at)*ContentBytes + int64(offsets[i]), Length: len(e.Content)}
	}
	l.Next += uint64(len(entries))
	l.holds = l.holds || len(entries) > 0
	l.confirmed = len(entries) == 0
	return places, nil
}

// putRecordHeader writes the header of a log record into its first RecordHeader bytes: the magic number, the length of
// what follows the header, the number of the first change, and how many changes the record has. It panics if record is
// shorter than a header. Checksums are not in the header but in the sectors.
func putRecordHeader(record []byte, first uint64, count int) {
	le := binary.LittleEndian
	le.PutUint32(record, recordMagic)
	le.PutUint32(record[4:], uint32(len(record)-RecordHeader))
	le.PutUint64(record[8:], first)
	le.PutUint32(record[16:], uint32(count))
}

// write appends a record to the open file, after the head if it is the first, and returns the number of its first
// sector. It does not sync. It fails if the disk does; what the end of the file holds is unknown then.
func (l *Log) write(record []byte) (at int, err error) {
	var out []byte
	at = l.sectors
	if at == 0 {
		out = l.Of.appendSectors(out, 0, l.Of.head())
		at = 1
	}
	out = l.Of.appendSectors(out, at, record)
	_, err = l.File.Write(out)
	l.sectors = at + sectorsOf(len(record))
	return at, err
}

// head returns the content of a file's first sector.
func (f *LogIdentity) head() []byte {
	return binary.LittleEndian.AppendUint64(append([]byte(logMagic), f.id...), f.first)
}

// create opens a new file for the next change under a temporary name. Append renames it when its first record is
// durable, replacing any file of that name: changes of that number were never acknowledged or are being written
// again. It fails if the disk does.
func (l *Log) create() error {
	if !l.rooted {
		made := l.disk.Mkdir(l.Dir)
		if made != nil && !errors.Is(made, os.ErrExist) {
			return made
		}
		if err := l.disk.SyncDir(filepath.Dir(l.Dir)); err != nil {
			if made == nil {
				_ = l.disk.RemoveAll(l.Dir) // so that its name is written anew
			}
			return err
		}
		l.rooted = true
	}
	making := filepath.Join(l.Dir, logMaking)
	if _, err := os.Lstat(making); err == nil {
		if err := l.disk.RemoveAll(making); err != nil {
			return err
		}
	}
	file, err := l.disk.Create(making)
	if err != nil {
		return err
	}
	l.Of = newLogIdentity(l.disk, filepath.Join(l.Dir, LogName(l.Next)), l.id, l.Next)
	l.File = file
	l.sectors, l.holds, l.confirmed = 0, false, true
	return nil
}

// abandon closes the open file after a failed write, since what its end holds is unknown. It removes the file if no
// acknowledged change is in it.
func (l *Log) abandon() {
	_ = l.File.Close() // it failed already
	l.File = nil
	if l.holds {
		l.full = append(l.full, fullFile{path: l.Of.Path, last: l.Next - 1})
	} else {
		_ = l.disk.RemoveAll(filepath.Join(l.Dir, logMaking)) // else the next file does
	}
}

// Confirm writes an empty record as evidence that the last change was acknowledged, without syncing it. It does nothing
// if there is evidence or no open file. A failure is not returned: the next change shows it.
func (l *Log) Confirm() {
	if l.File == nil || l.confirmed {
		return
	}
	record := make([]byte, RecordHeader)
	putRecordHeader(record, l.Next, 0)
	if _, err := l.write(record); err != nil {
		l.abandon() // nothing was lost; the next change shows whether the disk works
		return
	}
	l.confirmed = true
}

// Rotate closes the open file, if it has an acknowledged change; the next change begins another one.
func (l *Log) Rotate() {
	if l.File == nil || !l.holds {
		return
	}
	if l.Confirm(); l.File == nil {
		return
	}
	_ = l.File.Close() // what counts was synced
	l.File = nil
	l.full = append(l.full, fullFile{path: l.Of.Path, last: l.Next - 1})
}

// Prune removes the closed files whose last change is numbered applied or less. A file that cannot be removed is tried
// again the next time, and its error returned.
func (l *Log) Prune(applied uint64) error {
	var errs []error
	kept := l.full[:0]
	for _, f := range l.full {
		if f.last <= applied {
			err := l.disk.RemoveAll(f.path)
			if err == nil {
				continue
			}
			errs = append(errs, err)
		}
		kept = append(kept, f)
	}
	l.full = kept
	return errors.Join(errs...)
}

// Bytes returns the size of all files of the log.
func (l *Log) Bytes() int64 {
	total := l.Size()
	for _, f := range l.full {
		if info, err := os.Stat(f.path); err == nil {
			total += info.Size()
		}
	}
	return total
}

// Size returns the size of the open file; 0 if there is none.
func (l *Log) Size() int64 {
	if l.File == nil {
		return 0
	}
	return int64(l.sectors) * SectorBytes
}

// Close closes the log, after a durable record that the last change was acknowledged. A second call returns nil. It
// fails if syncing or closing does; it is closed all the same.
func (l *Log) Close() error {
	if l.Confirm(); l.File == nil {
		return nil
	}
	err := errors.Join(l.File.Sync(), l.File.Close())
	l.File = nil
	return err
}

// Passage reads the passage of a Put from the open file p.File. It fails if the file is damaged.
func (p ContentPlace) Passage(file disk.File) (out corpus.Passage, err error) {
	content, err := p.Read(file)
	if err == nil {
		err = out.UnmarshalBinary(content)
	}
	return out, err
}

// Read reads the content of a change from the open file p.File. It returns a *LogDamageError if a checksum is wrong.
func (p ContentPlace) Read(file disk.File) ([]byte, error) {
	first, skip := int(p.offset/ContentBytes), int(p.offset%ContentBytes)
	sectors := make([]byte, sectorsOf(skip+p.Length)*SectorBytes)
	if _, err := file.ReadAt(sectors, int64(first)*SectorBytes); err != nil {
		return nil, fmt.Errorf("reading %s: %w", p.File.Path, err)
	}
	content := make([]byte, 0, len(sectors)/SectorBytes*ContentBytes)
	for i := range len(sectors) / SectorBytes {
		part, sum := SplitSector(sectors[i*SectorBytes : (i+1)*SectorBytes])
		if n := first + i; sum != p.File.Sum(n, true, part) && sum != p.File.Sum(n, false, part) {
			return nil, p.File.damaged(n*SectorBytes, "a sector's checksum is wrong")
		}
		content = append(content, part...)
	}
	return content[skip : skip+p.Length], nil
}

// Alone returns the kind without Joined.
func (k Kind) Alone() Kind { return k &^ Joined }

// IsJoined reports whether searches must see the change together with the one after it.
func (k Kind) IsJoined() bool { return k&Joined != 0 }
