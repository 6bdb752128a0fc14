package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/disk"
)

// logOf writes a log of the given groups of changes, each a record, rotating
// after the groups that rotate names. It ends as a kill would end it: behind the
// last record is no evidence.
func logOf(t testing.TB, dir string, groups [][]string, rotate ...int) {
	t.Helper()
	l := openedLog(t, dir, 0)
	for i, group := range groups {
		var entries []Change
		for _, id := range group {
			entries = append(entries, Change{Kind: Delete, Content: []byte(id)})
		}
		if _, err := l.Append(entries); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(rotate, i) {
			l.Rotate()
		}
	}
	if l.File != nil {
		_ = l.File.Close()
	}
}

func openedLog(t testing.TB, dir string, applied uint64) *Log {
	t.Helper()
	l, err := Open(disk.OS{}, dir, testID, applied, func(uint64, Kind, []byte, ContentPlace) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const testID = "0123456789abcdef0123456789abcdef"

// readAt reads a change's content from its file.
func readAt(at ContentPlace) ([]byte, error) {
	file, err := at.File.Disk.Open(at.File.Path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return at.Read(file)
}

// replayed lists the ids that a log holds behind a change.
func replayed(dir string, applied uint64) (ids []string, err error) {
	err = Each(
		disk.OS{},
		dir,
		testID, applied,
		func(seq uint64, _ Kind, content []byte, at ContentPlace) error {
			again, err := readAt(at)
			if err != nil || string(again) != string(content) {
				return fmt.Errorf("change %d reads back as %q, %w", seq, again, err)
			}
			ids = append(ids, fmt.Sprintf("%d:%s", seq, content))
			return nil
		},
	)
	return ids, err
}

func TestLog(t *testing.T) {
	dir := t.TempDir()
	logOf(t, dir, [][]string{{"a", "b"}, {"c"}, {"d", "e", "f"}, {"g"}}, 1)
	all := []string{"1:a", "2:b", "3:c", "4:d", "5:e", "6:f", "7:g"}
	for applied := range uint64(8) {
		got, err := replayed(dir, applied)
		if err != nil || !slices.Equal(got, all[applied:]) {
			t.Fatalf("behind %d: %q, %v", applied, got, err)
		}
	}
	// It goes on where it ended, in a new file; what is in segments is pruned.
	l := openedLog(t, dir, 0)
	if _, err := l.Append([]Change{{Kind: Delete, Content: []byte("h")}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Prune(6); err != nil {
		t.Fatal(err)
	}
	if names, err := logNames(l.Dir); err != nil || !slices.Equal(names, []string{LogName(4), LogName(7)}) {
		t.Fatalf("%q, %v", names, err)
	}
	if got, err := replayed(dir, 6); err != nil || !slices.Equal(got, []string{"7:g", "8:h"}) {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := replayed(dir, 2); err == nil || !strings.Contains(err.Error(), "a file of the log is missing") {
		t.Fatalf("%v", err)
	}
	_ = l.Close()
	// A file that was to be removed and came back does no harm, nor does a gap
	// behind it.
	if err := os.WriteFile(filepath.Join(dir, Folder, LogName(1)), []byte("whatever"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := replayed(dir, 7); err != nil || !slices.Equal(got, []string{"8:h"}) {
		t.Fatalf("%q, %v", got, err)
	}
}

// logNames returns the names of the files of a log, in order.
func logNames(dir string) (names []string, err error) {
	files, err := logFiles(disk.OS{}, dir, testID)
	for _, f := range files {
		names = append(names, filepath.Base(f.Path))
	}
	return names, err
}

// TestLogBytes: the log is as large as its files, and nothing when it is empty.
func TestLogBytes(t *testing.T) {
	l := openedLog(t, t.TempDir(), 0)
	for i := range 3 {
		if _, err := l.Append([]Change{{Kind: Delete, Content: []byte("a")}}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(l.Of.Path)
		if err != nil {
			t.Fatal(err)
		}
		if want := info.Size(); l.Bytes() != want || want == 0 {
			t.Errorf("%d bytes, the file has %d", l.Bytes(), want)
		}
		l.Rotate()
		if err := l.Prune(uint64(i + 1)); err != nil || l.Bytes() != 0 {
			t.Errorf("%d bytes in no file, %v", l.Bytes(), err)
		}
	}
}

// packedSectors is a file of a log in few bytes: a fuzzer makes what it finds
// smaller in a number of tries that grows with the square of the bytes, up to a
// minute each. For each sector there is a byte that says whether it begins a record
// (1), has a wrong checksum (2) or is cut (4), the byte that fills its end, half the
// length of what stands before, and that.
type packedSectors []byte

func packSectors(of *LogIdentity, data []byte) (out packedSectors) {
	for n := range len(data) / SectorBytes {
		content, sum := SplitSector(data[n*SectorBytes:][:SectorBytes])
		begins := byte(0)
		if n > 0 && sum == of.Sum(n, true, content) {
			begins = 1
		}
		fill := content[len(content)-1]
		rest := bytes.TrimRight(content, string(fill))
		content = content[:len(rest)+len(rest)%2]
		out = append(append(out, begins, fill, byte(len(content)/2)), content...)
	}
	return out
}

func (p packedSectors) unpack(of *LogIdentity) (data []byte) {
	for n := 0; len(p) >= 3; n++ {
		kind := p[0]
		length := min(2*int(p[2]), ContentBytes, len(p)-3)
		content := bytes.Repeat(p[1:2], ContentBytes)
		copy(content, p[3:3+length])
		p = p[3+length:]
		sum := of.Sum(n, kind&1 != 0, content)
		if kind&2 != 0 {
			sum ^= uint32(kind) << 8
		}
		data = append(data, binary.LittleEndian.AppendUint32(content, sum)...)
		if kind&4 != 0 {
			data = data[:len(data)-int(kind)]
		}
	}
	return data
}

// FuzzLog reads any sectors as the only file of a log, and as the one before the
// last: what it visits are changes in order, and nothing panics.
func FuzzLog(f *testing.F) {
	dir := f.TempDir()
	logOf(f, dir, [][]string{{"a", "b"}, {"c"}, {long("d", 2)}})
	data, err := os.ReadFile(filepath.Join(dir, Folder, LogName(1)))
	if err != nil {
		f.Fatal(err)
	}
	of := newLogIdentity(disk.OS{}, LogName(1), testID, 1)
	packed := packSectors(of, data)
	if !bytes.Equal(packed.unpack(of), data) {
		f.Fatal("a log does not unpack to what was packed")
	}
	f.Add([]byte(packed))
	f.Add([]byte(packed[:len(packed)-1]))
	f.Fuzz(func(t *testing.T, packed []byte) {
		for _, data := range [][]byte{packed, packedSectors(packed).unpack(of)} {
			for _, end := range []uint64{^uint64(0), 3} {
				next := uint64(1)
				r := logReader{LogIdentity: of, Data: data, End: end, Next: next}
				_ = r.Read(func(record *logRecord) error {
					if len(record.Entries) > 0 && record.First != next {
						t.Fatalf("change %d comes where %d belongs", record.First, next)
					}
					next += uint64(len(record.Entries))
					for _, e := range record.Entries {
						var p corpus.Passage
						_ = p.UnmarshalBinary(e.Content)
					}
					return nil
				})
			}
		}
	})
}
