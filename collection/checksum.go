package collection

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/zeebo/xxh3"
)

// describe reads the first bytes of a file of a segment, which is what its seal
// covers, and says its checksum, and its size with a seal.
func describe(ctx context.Context, d disk, dir, name string, content int64, progress func(bytes int64)) (fileManifest, error) {
	out := fileManifest{Name: name}
	file, err := d.Open(filepath.Join(dir, name))
	if err != nil {
		return out, err
	}
	defer func() { _ = file.Close() }()
	in, hasher := io.LimitReader(file, content), xxh3.New()
	buffer := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		n, err := in.Read(buffer)
		_, _ = hasher.Write(buffer[:n]) // never fails
		out.Size += int64(n)
		if n > 0 && progress != nil {
			progress(int64(n))
		}
		if err == io.EOF {
			out.Size += int64(sealBytes)
			sum := hasher.Sum128()
			out.Sum = fmt.Sprintf("%016x%016x", sum.Hi, sum.Lo)
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}
