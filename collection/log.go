package collection

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
)

// The log keeps changes that were acknowledged and are not yet in a segment. It
// is a folder of files, each named for the number of its first change; changes
// are numbered from 1 without gaps for as long as the collection lives.
//
// A file is frames, one for each group of changes that was committed together,
// little-endian:
//
//	magic     uint32
//	length    uint32, of the body
//	first     uint64, the number of the first change
//	count     uint32, how many changes
//	checksum  uint32, CRC-32C of the fields before it but the magic, and of the body
//	body      each change: kind (1 byte), length (varint), content
//
// A frame is written at once and synced before any of its changes is
// acknowledged, and the next one is not begun before that. So a frame that is
// not whole was acknowledged to nobody if it is the last, and is a damaged file
// if another one follows.
const (
	logFolder   = "wal"
	logMagic    = 0x474f4c43 // "CLOG"
	frameHeader = 24
	maxFrame    = 64 << 20
)

type changeKind byte

const (
	putChange    changeKind = 1 // content: a passage's record
	deleteChange changeKind = 2 // content: an id
)

// logged is where a change's content lies.
type logged struct {
	path   string
	offset int64
	length int
}

// changeLog is the log as its one writer sees it. Append, rotate and prune are
// called by one goroutine at a time.
type changeLog struct {
	disk   disk
	dir    string // the log's folder
	next   uint64 // the number of the next change
	file   logFile
	path   string
	size   int64
	broken error // after a failure that leaves the file in an unknown state
	full   []fullFile
}

// fullFile is a file that is no longer appended to.
type fullFile struct {
	path string
	last uint64 // its last change
}

func logName(first uint64) string { return fmt.Sprintf("%020d.log", first) }

// entry is a change on its way into the log.
type entry struct {
	kind    changeKind
	content []byte
}

// append makes entries durable as one frame and says where each content lies.
// When it fails none of them is in the log.
func (l *changeLog) append(entries []entry) ([]logged, error) {
	if l.broken != nil {
		return nil, l.broken
	}
	if l.file == nil {
		if err := l.create(); err != nil {
			return nil, err
		}
	}
	frame := make([]byte, frameHeader, 4096)
	places := make([]logged, len(entries))
	for i, e := range entries {
		frame = append(frame, byte(e.kind))
		frame = binary.AppendUvarint(frame, uint64(len(e.content)))
		places[i] = logged{path: l.path, offset: l.size + int64(len(frame)), length: len(e.content)}
		frame = append(frame, e.content...)
	}
	if len(frame) > maxFrame {
		return nil, fmt.Errorf("a group of changes has %d bytes, %d are allowed", len(frame), maxFrame)
	}
	sealFrame(frame, l.next, len(entries))
	_, err := l.file.Write(frame)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		// What of the frame is on disk is unknown: take it back, durably, before
		// anything else is written. After a failed sync not even that is sure.
		cut := l.file.Truncate(l.size)
		if cut == nil {
			cut = l.file.Sync()
		}
		if cut != nil {
			l.broken = fmt.Errorf("the log %s cannot be written (%w), nor be set right (%w): restart when the disk is well", l.path, err, cut)
			return nil, l.broken
		}
		return nil, explainDisk(fmt.Errorf("writing the log %s: %w", l.path, err))
	}
	l.size += int64(len(frame))
	l.next += uint64(len(entries))
	return places, nil
}

func sealFrame(frame []byte, first uint64, count int) {
	le := binary.LittleEndian
	le.PutUint32(frame, logMagic)
	le.PutUint32(frame[4:], uint32(len(frame)-frameHeader))
	le.PutUint64(frame[8:], first)
	le.PutUint32(frame[16:], uint32(count))
	le.PutUint32(frame[20:], frameSum(frame))
}

func frameSum(frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(frame[4:20], castagnoli), castagnoli, frame[frameHeader:])
}

func (l *changeLog) create() error {
	path := filepath.Join(l.dir, logName(l.next))
	if err := l.disk.Mkdir(l.dir); err == nil {
		if err := l.disk.SyncDir(filepath.Dir(l.dir)); err != nil {
			return explainDisk(err)
		}
	} else if !errors.Is(err, os.ErrExist) {
		return explainDisk(err)
	}
	file, err := l.disk.Create(path)
	if err != nil {
		return explainDisk(err)
	}
	if err := l.disk.SyncDir(l.dir); err != nil {
		return explainDisk(errors.Join(err, file.Close()))
	}
	l.file, l.path, l.size = file, path, 0
	return nil
}

// rotate ends the present file; the next change begins another one.
func (l *changeLog) rotate() error {
	if l.file == nil || l.size == 0 {
		return nil
	}
	l.full = append(l.full, fullFile{path: l.path, last: l.next - 1})
	err := l.file.Close()
	l.file, l.size = nil, 0
	return err
}

// prune removes the files whose changes are all in segments: those up to the
// change numbered applied.
func (l *changeLog) prune(applied uint64) error {
	var errs []error
	kept := l.full[:0]
	for _, f := range l.full {
		if f.last > applied {
			kept = append(kept, f)
		} else if err := l.disk.RemoveAll(f.path); err != nil {
			errs = append(errs, err)
		}
	}
	l.full = kept
	return errors.Join(errs...)
}

// bytes is how large the log is.
func (l *changeLog) bytes() int64 {
	total := l.size
	for _, f := range l.full {
		total += fileSize(f.path)
	}
	return total
}

func (l *changeLog) close() error {
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// read fetches a change's content.
func (p logged) read() ([]byte, error) {
	file, err := os.Open(p.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content := make([]byte, p.length)
	if _, err := file.ReadAt(content, p.offset); err != nil {
		return nil, fmt.Errorf("reading %s: %w", p.path, err)
	}
	return content, nil
}
