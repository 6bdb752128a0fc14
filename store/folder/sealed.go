package folder

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
// of all before it. The manifest names that checksum, so the seal says which
// file it is, of which collection, segment, expert and generation: that of the
// one place in a manifest that names it. To compare the two when a file is
// opened costs the same however large it is, and finds a file that was put in
// the place of another; what is damaged inside of it, its own checksums find. A
// copy by hard links is sealed as the original is.
const (
	sealMagic = "CNCLSEAL"
	sealBytes = len(sealMagic) + 16
)

// appendSeal appends the seal of a file whose content has a checksum.
func appendSeal(b []byte, sum string) []byte {
	raw, _ := hex.DecodeString(sum) // it is ours
	return append(append(b, sealMagic...), raw...)
}

// unseal returns the content of a file that a manifest names, without its seal.
func unseal(path string, data []byte, f manifest.File) ([]byte, error) {
	at := len(data) - sealBytes
	if at < 0 || string(data[at:]) != string(appendSeal(nil, f.Sum)) {
		return nil, fmt.Errorf(
			"%s is not the file that the manifest names, whose checksum is %s (it ends with %q): another one was put in its place, or it is damaged; put its own back, restore the collection from a snapshot, or index again",
			path,
			f.Sum,
			data[max(at, 0):],
		)
	}
	return data[:at:at], nil
}

// sealedDisk maps files of a segment without their seals, which it compares with
// the manifest's checksums first.
type sealedDisk struct {
	disk.Disk
	files []manifest.File
}

func (d sealedDisk) Map(path string) (*disk.Mapping, error) {
	for _, f := range d.files {
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

// sealFile describes a file that was written, seals it, and makes it durable.
func sealFile(
	ctx context.Context,
	d disk.Disk,
	dir, name string,
	progress func(bytes int64),
) (f manifest.File, err error) {
	path := filepath.Join(dir, name)
	file, err := d.Open(path)
	if err != nil {
		return f, err
	}
	f, err = describe(ctx, file, name, progress)
	err = errors.Join(err, file.Close())
	if err != nil {
		return f, err
	}
	file, err = d.OpenAppend(path)
	if err != nil {
		return f, err
	}
	_, err = file.Write(appendSeal(nil, f.Sum))
	err = errors.Join(err, file.Close())
	if err != nil {
		return f, err
	}
	return f, d.SyncFile(path)
}
