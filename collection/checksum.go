package collection

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/zeebo/xxh3"
)

// describe reads a file of a segment and says its size and checksum.
func describe(ctx context.Context, d disk, dir, name string, progress func(bytes int64)) (fileManifest, error) {
	out := fileManifest{Name: name}
	file, err := d.Open(filepath.Join(dir, name))
	if err != nil {
		return out, err
	}
	defer func() { _ = file.Close() }()
	hasher := xxh3.New()
	buffer := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		n, err := file.Read(buffer)
		_, _ = hasher.Write(buffer[:n]) // never fails
		out.Size += int64(n)
		if n > 0 && progress != nil {
			progress(int64(n))
		}
		if err == io.EOF {
			sum := hasher.Sum128()
			out.Sum = fmt.Sprintf("%016x%016x", sum.Hi, sum.Lo)
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}
