package disk

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/zeebo/xxh3"
)

// Chunks verifies the checksums of data chunk by chunk, each when its chunk is first read: opening a large file costs
// nothing, and a damaged byte is an error and never a wrong answer. It is safe for concurrent use.
type Chunks struct {
	data, sums []byte
	shift      uint
	verified   []atomic.Uint32 // a bit for each chunk whose checksum was right
}

// NewChunks returns the chunks of data whose checksums, xxh3 with 64 bits little-endian for each chunk of 1<<shift
// bytes, are in sums, which must have one for each chunk. It copies neither and verifies nothing.
func NewChunks(data, sums []byte, shift uint) *Chunks {
	return &Chunks{data: data, sums: sums, shift: shift, verified: make([]atomic.Uint32, (len(sums)/8+31)/32)}
}

// Verify returns an error if the checksum of a chunk that data[from:to] lies in is wrong. Chunks that were found right
// before are not compared again. from must be less than to.
func (c *Chunks) Verify(from, to uint64) error {
	for chunk := from >> c.shift; chunk <= (to-1)>>c.shift; chunk++ {
		if c.verified[chunk/32].Load()&(1<<(chunk%32)) == 0 {
			if err := c.verifyChunk(chunk); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifyChunk compares the checksum of the chunk with this number. It marks the chunk as verified if the checksum is
// right, and returns an error with the range of bytes if it is wrong.
func (c *Chunks) verifyChunk(chunk uint64) error {
	start := chunk << c.shift
	end := min(start+1<<c.shift, uint64(len(c.data)))
	if xxh3.Hash(c.data[start:end]) != binary.LittleEndian.Uint64(c.sums[8*chunk:]) {
		return fmt.Errorf("the checksum of bytes %d to %d is wrong", start, end)
	}
	c.verified[chunk/32].Or(1 << (chunk % 32))
	return nil
}

// Verified returns the number of chunks that were verified so far.
func (c *Chunks) Verified() (n int) {
	for i := range c.verified {
		n += bits.OnesCount32(c.verified[i].Load())
	}
	return n
}

// ChunkSums computes the checksums of the chunks of bytes that are written to it.
type ChunkSums struct {
	size   int
	hasher xxh3.Hasher
	filled int
	sums   []byte
}

// NewChunkSums returns a writer that computes checksums of chunks of 1<<shift bytes, as NewChunks takes them.
func NewChunkSums(shift uint) *ChunkSums { return &ChunkSums{size: 1 << shift} }

// Write adds bytes to the chunks. It never fails.
func (s *ChunkSums) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part := b[:min(len(b), s.size-s.filled)]
		_, _ = s.hasher.Write(part)
		s.filled += len(part)
		b = b[len(part):]
		if s.filled == s.size {
			s.close()
		}
	}
	return n, nil
}

// close appends the checksum of the chunk so far, and begins the next one.
func (s *ChunkSums) close() {
	s.sums = binary.LittleEndian.AppendUint64(s.sums, s.hasher.Sum64())
	s.hasher.Reset()
	s.filled = 0
}

// Sums returns the checksums of all that was written, 8 bytes each; the last chunk may be short. Write nothing
// after it.
func (s *ChunkSums) Sums() []byte {
	if s.filled > 0 {
		s.close()
	}
	return s.sums
}
