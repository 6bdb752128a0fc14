package wal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/conclave/internal/disk"
)

// long returns an id that takes some sectors, as no id does, but texts do.
func long(name string, sectors int) string {
	return name + strings.Repeat("x", sectors*ContentBytes-RecordHeader-len(name)-10)
}

// readBytes reads bytes as the log's only file, or as one that another follows.
func readBytes(data []byte, end uint64) (ids []string, err error) {
	r := logReader{LogIdentity: newLogIdentity(disk.OS{}, LogName(1), testID, 1), Data: data, End: end, Next: 1}
	visit := func(record *logRecord) error {
		for i, e := range record.Entries {
			ids = append(ids, fmt.Sprintf("%d:%s", record.First+uint64(i), strings.TrimRight(string(e.Content), "x")))
		}
		return nil
	}
	if err := r.Read(visit); err != nil {
		return nil, err
	}
	return ids, visit(&r.Held)
}

// loggedBytes returns a file of a log: the records a (1), b and c (2 and 3), d (4),
// of one, three and four sectors; and where the last one begins.
func loggedBytes(t *testing.T, confirmed bool) (data []byte, last int) {
	t.Helper()
	dir := t.TempDir()
	logOf(t, dir, [][]string{{"a"}, {"b", long("c", 3)}, {long("d", 4)}})
	path := filepath.Join(dir, Folder, LogName(1))
	last = (1 + 1 + 3) * SectorBytes
	data, err := os.ReadFile(path)
	if err != nil || len(data) != last+4*SectorBytes {
		t.Fatal(len(data), err)
	}
	if confirmed {
		record := make([]byte, RecordHeader)
		putRecordHeader(record, 5, 0)
		data = newLogIdentity(disk.OS{}, path, testID, 1).appendSectors(data, len(data)/SectorBytes, record)
	}
	return data, last
}

var allLogged = []string{"1:a", "2:b", "3:c", "4:d"}

// TestLogBits flips every bit of a file, and changes every byte: each is an error
// that says which byte, whether there is evidence behind the last record or not.
func TestLogBits(t *testing.T) {
	for _, confirmed := range []bool{false, true} {
		for _, end := range []uint64{^uint64(0), 5} {
			data, _ := loggedBytes(t, confirmed)
			if got, err := readBytes(data, end); err != nil || !slices.Equal(got, allLogged) {
				t.Fatalf("whole: %q, %v", got, err)
			}
			evidence := 10 * SectorBytes // behind it nothing counts where another file follows
			for at := range data {
				for _, flip := range []byte{1, 2, 4, 8, 16, 32, 64, 128, 255, byte(at)} {
					data[at] ^= flip
					got, err := readBytes(data, end)
					data[at] ^= flip
					if flip == 0 || end == 5 && at >= evidence-SectorBytes && confirmed {
						continue
					}
					var damage *LogDamageError
					if !errors.As(err, &damage) || damage.Byte != at || !strings.Contains(err.Error(), LogName(1)) {
						t.Fatalf("evidence %v, byte %d changed by %08b: %q, %v", confirmed, at, flip, got, err)
					}
				}
			}
		}
	}
}

// TestLogCuts cuts a file at every byte. What is gone of the last record was
// acknowledged to nobody; the first record was whole before there was a file, and
// where another file follows so was every one.
func TestLogCuts(t *testing.T) {
	data, last := loggedBytes(t, true)
	for cut := range data {
		want := allLogged
		switch {
		case cut < 2*SectorBytes:
			want = nil
		case cut < last:
			want = allLogged[:1]
		case cut < len(data)-SectorBytes:
			want = allLogged[:3]
		}
		got, err := readBytes(data[:cut], ^uint64(0))
		if (err != nil) != (want == nil) || !slices.Equal(got, want) {
			t.Fatalf("cut to %d bytes: %q, %v", cut, got, err)
		}
		if got, err := readBytes(data[:cut], 5); (err == nil) != (len(want) == 4) {
			t.Fatalf("cut to %d bytes with another file behind it: %q, %v", cut, got, err)
		}
	}
}

// TestLogTorn leaves any of the last record's sectors as they were before they
// were written: zeros, behind the file's end, arbitrary bytes, or those of
// another file of the log. A write that was cut leaves just that, and it is
// dropped. With evidence behind it, the same is an error.
func TestLogTorn(t *testing.T) {
	const seed = 15
	random := rand.New(rand.NewPCG(seed, seed))
	stale := newLogIdentity(disk.OS{}, "", testID, 7).appendSectors(nil, 0, []byte(long("stale", 12)))
	before := map[string]func(sector []byte, number int){
		"zeros":     func(sector []byte, _ int) { clear(sector) },
		"arbitrary": func(sector []byte, _ int) { fill(random, sector) },
		"stale":     func(sector []byte, number int) { copy(sector, stale[number*SectorBytes:]) },
	}
	for what, leave := range before {
		for _, confirmed := range []bool{false, true} {
			whole, last := loggedBytes(t, confirmed)
			for written := range 1<<4 - 1 { // a bit for each sector that was
				data := slices.Clone(whole)
				for i := range 4 {
					if at := last + i*SectorBytes; written>>i&1 == 0 {
						leave(data[at:at+SectorBytes], at/SectorBytes)
					}
				}
				got, err := readBytes(data, ^uint64(0))
				if confirmed {
					var damage *LogDamageError
					if !errors.As(err, &damage) || damage.Byte < last {
						t.Fatalf("%s, sectors %04b were written, with evidence: %q, %v", what, written, got, err)
					}
					continue
				}
				if err != nil || !slices.Equal(got, allLogged[:3]) {
					t.Fatalf("%s, sectors %04b were written: %q, %v (seed %d)", what, written, got, err, seed)
				}
				if _, err := readBytes(data, 5); err == nil {
					t.Fatalf("%s, sectors %04b were written, and another file follows: no error", what, written)
				}
				// A bit that is flipped in what was written is still seen.
				for i := range 4 {
					if at := last + i*SectorBytes + 37; written>>i&1 != 0 {
						data[at] ^= 4
						if got, err := readBytes(data, ^uint64(0)); err == nil {
							t.Fatalf("%s, sectors %04b were written, byte %d flipped: %q", what, written, at, got)
						}
						data[at] ^= 4
					}
				}
			}
		}
	}
}

func fill(random *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(random.Uint32())
	}
}

// TestLogGoesOnBehindTorn: what a cut write left stays without effect for good,
// also when the record that was cut turns out to be whole after all.
func TestLogGoesOnBehindTorn(t *testing.T) {
	for _, cut := range []int{0, 1, SectorBytes, 2*SectorBytes + 17} {
		dir := t.TempDir()
		logOf(t, dir, [][]string{{"a"}, {"b"}, {long("c", 3), "d"}})
		path := filepath.Join(dir, Folder, LogName(1))
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, int64(3*SectorBytes+cut)); err != nil {
			t.Fatal(err)
		}
		l := openedLog(t, dir, 0)
		for _, id := range []string{"new", "newer"} {
			if _, err := l.Append([]Change{{Kind: Delete, Content: []byte(id)}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		for _, data := range [][]byte{nil, whole} {
			if data != nil {
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := replayed(dir, 0); err != nil || !slices.Equal(got, []string{"1:a", "2:b", "3:new", "4:newer"}) {
				t.Fatalf("cut to %d bytes of the last record: %q, %v", cut, got, err)
			}
		}
	}
}

// TestLogOfAnother puts a file of another collection, or of another number, in
// the place of a log's own.
func TestLogOfAnother(t *testing.T) {
	dir := t.TempDir()
	logOf(t, dir, [][]string{{"a"}, {"b"}}, 0)
	one, two := filepath.Join(dir, Folder, LogName(1)), filepath.Join(dir, Folder, LogName(2))
	if err := errors.Join(os.Rename(one, one+"x"), os.Rename(two, one), os.Rename(one+"x", two)); err != nil {
		t.Fatal(err)
	}
	if got, err := replayed(dir, 0); err == nil || !strings.Contains(err.Error(), "from change 2 on, where") {
		t.Errorf("two files swapped: %q, %v", got, err)
	}
	if err := errors.Join(os.Rename(one, one+"x"), os.Rename(two, one), os.Rename(one+"x", two)); err != nil {
		t.Fatal(err)
	}
	if got, err := replayed(dir, 0); err != nil || len(got) != 2 {
		t.Errorf("each in its place: %q, %v", got, err)
	}
	other := strings.Repeat("f", 32)
	err := Each(disk.OS{}, dir, other, 0, func(uint64, Kind, []byte, ContentPlace) error { return nil })
	if err == nil || !strings.Contains(err.Error(), testID) || !strings.Contains(err.Error(), other) {
		t.Errorf("in another collection: %v", err)
	}
}

// TestLogReadsWhatIsDamaged: a text that is fetched from the log is compared with
// its checksum.
func TestLogReadsWhatIsDamaged(t *testing.T) {
	l := openedLog(t, t.TempDir(), 0)
	places, err := l.Append([]Change{{Kind: Delete, Content: []byte("a")}, {Kind: Delete, Content: []byte(long("b", 3))}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(l.Of.Path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-600] ^= 1
	if err := os.WriteFile(l.Of.Path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readAt(places[0]); err != nil || string(got) != "a" {
		t.Errorf("a change beside the damage: %q, %v", got, err)
	}
	var damage *LogDamageError
	if _, err := readAt(places[1]); !errors.As(err, &damage) {
		t.Errorf("a damaged change: %v", err)
	}
}
