package documents

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestOpenZip: an archive is opened where its list of files is within the bound, and read behind it.
func TestOpenZip(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 5000 {
		f, err := w.Create(fmt.Sprintf("folder/%04d.txt", i))
		if err != nil {
			t.Fatal(err)
		}
		if i == 4999 {
			_, _ = io.WriteString(f, strings.Repeat("the last file ", 100_000))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data := bytes.NewReader(b.Bytes())
	// Each file has 46 bytes and its name of 15 in the list.
	if _, err := OpenZip(data, data.Size(), 5000*(46+15)-endBytes); ReasonOf(err) != TooLarge {
		t.Errorf("a list of 305,000 bytes where 305,000 are read, with the end of the archive: %v", err)
	}
	archive, err := OpenZip(data, data.Size(), 1<<20)
	if err != nil || len(archive.File) != 5000 {
		t.Fatalf("%v", err)
	}
	f, err := archive.File[4999].Open()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, f); err != nil || n != 1_400_000 {
		t.Errorf("the last file has %d bytes, %v", n, err)
	}
}

// TestHeldResults: a document that is not stored yet keeps the next large one waiting, and no small one.
func TestHeldResults(t *testing.T) {
	p := NewPool(PoolOptions{})
	large := &Document{Text: strings.Repeat("x", heldBytes)}
	first, release := HoldResults(t.Context())
	if err := p.holdResult(first, large); err != nil {
		t.Fatal(err)
	}
	second, releaseSecond := HoldResults(t.Context())
	if err := p.holdResult(second, &Document{Text: "small"}); err != nil {
		t.Fatal(err)
	}
	if err := p.holdResult(t.Context(), large); err != nil { // it is not held
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- p.holdResult(second, large) }()
	select {
	case err := <-done:
		t.Fatalf("two large documents have room: %v", err)
	default:
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	releaseSecond()
	releaseSecond()
	if !p.results.TryAcquire(heldBytes) {
		t.Error("room was not given back")
	}
}
