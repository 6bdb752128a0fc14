package documents

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutlook: a mail of Outlook is read as one of a mail server: its richer text, who wrote it to whom, and the files
// and mails attached to it.
func TestOutlook(t *testing.T) {
	r := newTestReader(t)
	for name, want := range map[string]struct {
		outline  string
		attached string
		warning  string
	}{
		"outlook.msg": {
			"heading1: Lieferung für März\nparagraph: From: Ann Bell <ann@example.org>; To: Bob <bob@example.org>, Dee; Cc: Cy; " +
				"Date: 2024-01-02\nparagraph: The parcels leave Hull on Monday, at 10^3 a day.\n",
			"list.csv: Part,Price\nbolt,1.20\n|Older mail.eml: The valve was closed in May.",
			"1 pictures",
		},
		"outlook-rtf.msg": {
			"heading1: Насос\nparagraph: From: Ann Bell <ann@example.org>; To: Отдел; Date: 2024-01-02\n" +
				"paragraph: Насос закрыт. " + strings.TrimSpace(strings.Repeat("The pump is closed. ", 9)) + "\n",
			"", "",
		},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		d, attached, err := r.Read(t.Context(), Input{Name: "mail.bin", Data: data})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := outline(d); got != want.outline || d.MediaType != Outlook || !IsMail(data, name, "") {
			t.Errorf("%s: %s\n%s\nwant\n%s", name, d.MediaType, got, want.outline)
		}
		if want.warning != "" {
			namesAll(t, d, want.warning)
		}
		var got []string
		for _, m := range attached {
			text := string(m.Data)
			if strings.HasSuffix(m.Name, ".eml") {
				inner, _, err := r.Read(t.Context(), Input{Name: m.Name, Data: m.Data})
				if err != nil {
					t.Fatal(err)
				}
				text = inner.TextOf(inner.Blocks[len(inner.Blocks)-1])
			}
			got = append(got, m.Name+": "+text)
		}
		if all := strings.Join(got, "|"); all != want.attached {
			t.Errorf("%s has attached %q, want %q", name, all, want.attached)
		}
	}
}

// TestBrokenOutlook: mails of Outlook with wrong bytes are read as far as possible or refused with a reason, within the
// limits.
func TestBrokenOutlook(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "outlook.msg"))
	if err != nil {
		t.Fatal(err)
	}
	const seed = 51
	rng := rand.New(rand.NewPCG(seed, seed))
	read := func(data []byte) {
		t.Helper()
		_, _, err := NewExtractor(limits(), nil).Read(t.Context(), Input{Name: "a.msg", Data: data})
		if err != nil && ReasonOf(err) == "" {
			t.Errorf("seed %d: %v has no reason", seed, err)
		}
	}
	for range 3000 {
		data := append([]byte(nil), whole...)
		for range 1 + rng.IntN(8) {
			at := rng.IntN(len(data) - 4)
			if rng.IntN(3) == 0 { // sector numbers
				at = at &^ 3
				binary.LittleEndian.PutUint32(data[at:], uint32(rng.IntN(40)))
			} else {
				data[at] = byte(rng.IntN(256))
			}
		}
		read(data[:len(data)-rng.IntN(2)*rng.IntN(len(data))])
	}
	for _, packed := range []string{"", "0123456789abcdef", "\x10\x00\x00\x00\xff\xff\xff\x7fLZFu....\x00a"} {
		if text, err := unpackRTF([]byte(packed), 1000); err == nil {
			t.Errorf("%q is unpacked to %q", packed, text)
		}
	}
	// References to the window may write at most what the limit allows.
	long := []byte("\x00\x00\x00\x00\x00\x10\x00\x00LZFu....")
	for range 1000 {
		long = append(long, 0xff, 0, 15, 0, 15, 0, 15, 0, 15, 0, 15, 0, 15, 0, 15, 0, 15)
	}
	if text, err := unpackRTF(long, 5000); err != nil || len(text) != 4096 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
