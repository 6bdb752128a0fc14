package segmentfile

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"example.org/conclave/internal/disk"
	"example.org/conclave/store/folder/internal/manifest"
)

// Every file of a segment ends with a seal: sealMagic, and the xxh3 (128 bits)
// of all bytes before it. The manifest has the same checksum. Both are compared
// when a file is opened, which takes the same time however large the file is, and
// finds a file that was put in the place of another. Damage inside a file is found
// by the file's own checksums. A copy by hard links has the seal of the original.
const (
	sealMagic = "CNCLSEAL"
	SealBytes = len(sealMagic) + 16 // of a seal
)

// AppendSeal appends to b the seal of a file whose content has the checksum sum, in hexadecimal as in a manifest.
func AppendSeal(b []byte, sum string) []byte {
	raw, _ := hex.DecodeString(sum) // it is ours
	return append(append(b, sealMagic...), raw...)
}

// unseal returns the content of a file that a manifest names, without its seal. It fails if the seal is not that of f;
// path is for the error.
func unseal(path string, data []byte, f manifest.SegmentFile) ([]byte, error) {
	at := len(data) - SealBytes
	if at < 0 || string(data[at:]) != string(AppendSeal(nil, f.Sum)) {
		return nil, fmt.Errorf(
			"%s is not the file that the manifest names, whose checksum is %s (it ends with %q): another one was put in its place, or it is damaged; put its own back, restore the collection from a snapshot, or index again",
			path, f.Sum, data[max(at, 0):],
		)
	}
	return data[:at:at], nil
}

// Disk is a disk whose Map returns the files of one segment without their seals.
type Disk struct {
	disk.Disk
	Files []manifest.SegmentFile
}

// Map maps a file of Files without its seal. It fails if the file is not one of them, or its seal is not that of the
// checksum that the manifest names.
func (d Disk) Map(path string) (*disk.Mapping, error) {
	for _, f := range d.Files {
		if f.Name != filepath.Base(path) {
			continue
		}
		m, err := d.Disk.Map(path)
		if err != nil {
			return nil, err
		}
		content, err := unseal(path, m.Data, f)
		if err != nil {
			return nil, errors.Join(err, m.Close())
		}
		m.Data = content
		return m, nil
	}
	return nil, fmt.Errorf("%s is no file that the manifest names", path)
}

// Seal appends the seal to a finished file in the folder dir, syncs it, and returns its entry in a manifest.
// progress, if it is not nil, is called with the number of bytes of each read. If it fails, the file may have a seal,
// or a part of one.
func Seal(
	ctx context.Context,
	d disk.Disk,
	dir, name string,
	progress func(bytes int64),
) (f manifest.SegmentFile, err error) {
	path := filepath.Join(dir, name)
	file, err := d.Open(path)
	if err != nil {
		return f, err
	}
	f, err = Describe(ctx, file, name, progress)
	err = errors.Join(err, file.Close())
	if err != nil {
		return f, err
	}
	file, err = d.OpenAppend(path)
	if err != nil {
		return f, err
	}
	_, err = file.Write(AppendSeal(nil, f.Sum))
	err = errors.Join(err, file.Close())
	if err != nil {
		return f, err
	}
	return f, d.SyncFile(path)
}
