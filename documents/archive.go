package documents

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"path"
	"strings"
)

// parts unpacks the files inside a document that is a zip archive, such as DOCX: at most Limits.UnpackedBytes of them
// together.
type parts struct {
	files map[string]*zip.File
	left  int64
	bound int64
}

// openParts opens a document that is a zip archive; the result reads from data. The paths of parts are cleaned:
// with / between folders and without a leading one. The error is an *UnreadableError if the archive is damaged, any
// file in it is encrypted, or there are more than Limits.Members files.
func openParts(data []byte, limits Limits) (*parts, error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, unreadable(Damaged, err, "its archive cannot be opened")
	}
	p := &parts{files: make(map[string]*zip.File, len(r.File)), left: limits.UnpackedBytes, bound: limits.UnpackedBytes}
	if len(r.File) > limits.Members {
		return nil, unreadable(TooLarge, nil, "its archive has %d parts, more than %d", len(r.File), limits.Members)
	}
	for _, f := range r.File {
		if f.Flags&1 != 0 {
			return nil, unreadable(Encrypted, nil, "it is encrypted: save it without a password")
		}
		p.files[strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(f.Name, `\`, "/")), "/")] = f
	}
	return p, nil
}

// partCost is what reading a part counts beside its bytes, so that no part is read without end.
const partCost = 256

// read returns the unpacked content of a part by its path; nil, without an error, if there is no such part. Its
// length and partCost are taken from the bytes that further parts may have, so reading a part twice counts twice.
// The error is an *UnreadableError if the part is damaged or Limits.UnpackedBytes is exceeded.
func (p *parts) read(name string) ([]byte, error) {
	f := p.files[name]
	if f == nil {
		return nil, nil
	}
	if f.UncompressedSize64 > uint64(p.left) {
		return nil, p.tooLarge()
	}
	in, err := f.Open()
	if err != nil {
		return nil, unreadable(Damaged, err, "its part %.80s cannot be unpacked", name)
	}
	defer func() { _ = in.Close() }()
	data, err := io.ReadAll(io.LimitReader(in, p.left+1))
	if int64(len(data)) > p.left {
		return nil, p.tooLarge()
	}
	if err != nil && !errors.Is(err, zip.ErrChecksum) {
		return nil, unreadable(Damaged, err, "its part %.80s cannot be unpacked", name)
	}
	if err != nil {
		return nil, unreadable(Damaged, err, "its part %.80s has another checksum", name)
	}
	p.left = max(0, p.left-int64(len(data))-partCost)
	return data, nil
}

// tooLarge returns the *UnreadableError for more than Limits.UnpackedBytes.
func (p *parts) tooLarge() error {
	return unreadable(TooLarge, nil, "it unpacks to more than %d MiB", p.bound>>20)
}
