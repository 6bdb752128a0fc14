package collection

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// openLog reads the log of a collection and visits, in order, every change
// behind the one numbered applied. A last frame that was cut off is removed; it
// was acknowledged to nobody. Any other damage is an error: it would lose what
// was acknowledged.
func openLog(d disk, dir string, applied uint64, visit visitChange) (*changeLog, error) {
	found, err := readLog(filepath.Join(dir, logFolder), applied, visit)
	if err != nil {
		return nil, err
	}
	l := &changeLog{disk: d, dir: filepath.Join(dir, logFolder), next: found.next, full: found.files}
	if len(l.full) == 0 {
		return l, nil
	}
	last := l.full[len(l.full)-1].path
	if filepath.Base(last) == logName(l.next) { // nothing whole is in it
		if err := d.RemoveAll(last); err != nil {
			return nil, explainDisk(err)
		}
		l.full = l.full[:len(l.full)-1]
		return l, nil
	}
	if found.torn >= 0 {
		return l, cutOff(d, last, found.torn)
	}
	return l, nil
}

// visitChange is called with a change of the log and where its content lies.
type visitChange func(seq uint64, kind changeKind, content []byte, at logged) error

// foundLog is what readLog found.
type foundLog struct {
	next  uint64 // the number of the next change
	files []fullFile
	torn  int64 // where the last file ends in a frame that is not whole; -1 when it does not
}

// readLog is openLog without changing anything.
func readLog(dir string, applied uint64, visit visitChange) (found foundLog, err error) {
	found = foundLog{next: applied + 1, torn: -1}
	names, err := logFiles(dir)
	if err != nil {
		return found, err
	}
	firsts := make([]uint64, len(names))
	for i, name := range names {
		firsts[i], _ = strconv.ParseUint(strings.TrimSuffix(name, ".log"), 10, 64)
	}
	for len(firsts) > 1 && firsts[1] <= applied+1 {
		// All of it is in segments: it was to be removed.
		found.files = append(found.files, fullFile{path: filepath.Join(dir, names[0])})
		names, firsts = names[1:], firsts[1:]
	}
	for i, name := range names {
		switch {
		case i == 0 && firsts[i] > applied+1:
			return found, fmt.Errorf("the log %s begins with change %d, but the segments end with change %d: a file of the log is missing", dir, firsts[i], applied)
		case i > 0 && firsts[i] != found.next:
			return found, fmt.Errorf("the log file %s follows change %d: a file of the log is missing", name, found.next-1)
		}
		path := filepath.Join(dir, name)
		last, torn, err := readLogFile(path, firsts[i], i == len(names)-1, func(seq uint64, kind changeKind, content []byte, at logged) error {
			if seq <= applied {
				return nil
			}
			return visit(seq, kind, content, at)
		})
		if err != nil {
			return found, err
		}
		found.files = append(found.files, fullFile{path: path, last: last})
		found.next, found.torn = max(found.next, last+1), torn
	}
	return found, nil
}

// readLogFile visits the changes of one file. Only the last file may end in a
// frame that is not whole.
func readLogFile(path string, first uint64, isLast bool, visit visitChange) (last uint64, torn int64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, -1, err
	}
	next := first
	for at := 0; at < len(data); {
		frame, count, err := cutFrame(data[at:], next)
		if err != nil {
			if !isLast || wholeFrameIn(data[at+1:]) {
				return 0, -1, fmt.Errorf("the log file %s is damaged at byte %d, and acknowledged changes stand behind it: %w", path, at, err)
			}
			return next - 1, int64(at), nil
		}
		err = eachChange(frame[frameHeader:], count, func(n int, kind changeKind, content []byte, offset int) error {
			return visit(next+uint64(n), kind, content, logged{path: path, offset: int64(at + frameHeader + offset), length: len(content)})
		})
		if err != nil {
			return 0, -1, fmt.Errorf("the log file %s, at byte %d: %w", path, at, err)
		}
		next += uint64(count)
		at += len(frame)
	}
	return next - 1, -1, nil
}

func logFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		first, isLog := strings.CutSuffix(e.Name(), ".log")
		if _, err := strconv.ParseUint(first, 10, 64); isLog && err == nil && len(first) == 20 {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// cutFrame returns the frame at the beginning of data, checked.
func cutFrame(data []byte, first uint64) (frame []byte, count int, err error) {
	le := binary.LittleEndian
	if len(data) < frameHeader {
		return nil, 0, errors.New("a frame's header is cut off")
	}
	if le.Uint32(data) != logMagic {
		return nil, 0, errors.New("there is no frame")
	}
	length := uint64(le.Uint32(data[4:]))
	if length > maxFrame || length > uint64(len(data)-frameHeader) {
		return nil, 0, errors.New("a frame is cut off")
	}
	frame = data[:frameHeader+length]
	if frameSum(frame) != le.Uint32(frame[20:]) {
		return nil, 0, errors.New("a frame's checksum is wrong")
	}
	if n := le.Uint64(frame[8:]); n != first {
		return nil, 0, fmt.Errorf("a frame begins with change %d where change %d belongs", n, first)
	}
	count = int(le.Uint32(frame[16:]))
	if count < 1 || uint64(count) > length {
		return nil, 0, fmt.Errorf("a frame has %d changes in %d bytes", count, length)
	}
	return frame, count, nil
}

// wholeFrameIn reports whether a frame that is whole stands anywhere in data.
func wholeFrameIn(data []byte) bool {
	var magic [4]byte
	binary.LittleEndian.PutUint32(magic[:], logMagic)
	for {
		at := bytes.Index(data, magic[:])
		if at < 0 {
			return false
		}
		data = data[at:]
		if len(data) >= frameHeader {
			if _, _, err := cutFrame(data, binary.LittleEndian.Uint64(data[8:])); err == nil {
				return true
			}
		}
		data = data[1:]
	}
}

// eachChange visits the changes of a frame's body.
func eachChange(body []byte, count int, visit func(n int, kind changeKind, content []byte, offset int) error) error {
	at := 0
	for n := range count {
		if at >= len(body) {
			return errors.New("a frame has fewer changes than it says")
		}
		kind := changeKind(body[at])
		length, used := binary.Uvarint(body[at+1:])
		if used <= 0 || length > uint64(len(body)-at-1-used) {
			return errors.New("a change's length is wrong")
		}
		at += 1 + used
		if kind != putChange && kind != deleteChange {
			return fmt.Errorf("a change of kind %d, which this program does not know", kind)
		}
		if err := visit(n, kind, body[at:at+int(length)], at); err != nil {
			return err
		}
		at += int(length)
	}
	if at != len(body) {
		return errors.New("a frame has more in it than its changes")
	}
	return nil
}

// cutOff shortens a file, durably.
func cutOff(d disk, path string, size int64) error {
	file, err := d.OpenAppend(path)
	if err != nil {
		return explainDisk(err)
	}
	err = file.Truncate(size)
	if err == nil {
		err = file.Sync()
	}
	return explainDisk(errors.Join(err, file.Close()))
}
