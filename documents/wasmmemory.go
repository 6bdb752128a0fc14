package documents

import (
	"context"
	"runtime/metrics"
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"
)

// wasmMemory allocates the memory of PDFium from the system, so that it is given back when a file was read. Go's own
// memory would be copied whenever it grows, and be kept.
type wasmMemory struct{ none atomic.Bool }

// newWASMMemory returns an allocator that has not refused any memory yet.
func newWASMMemory() *wasmMemory { return &wasmMemory{} }

// in returns a context with which WebAssembly modules get their memory from m.
func (m *wasmMemory) in(ctx context.Context) context.Context {
	return experimental.WithMemoryAllocator(ctx, m)
}

// Allocate returns an empty memory for a new module. It implements experimental.MemoryAllocator.
func (m *wasmMemory) Allocate(_, _ uint64) experimental.LinearMemory {
	m.none.Store(false)
	return &mapping{all: m}
}

// refused reports whether the module that was started last asked for memory in vain.
func (m *wasmMemory) refused() bool { return m.none.Load() }

// mapping is the memory of one module.
type mapping struct {
	all *wasmMemory
	b   []byte
}

// Reallocate changes the size of the memory and returns it; nil if the system has no more. It implements
// experimental.LinearMemory.
func (m *mapping) Reallocate(size uint64) []byte {
	if uint64(len(m.b)) == size && m.b != nil {
		return m.b
	}
	now := resizeMapping(m.b, int(size))
	if now == nil {
		m.all.none.Store(true)
		return nil
	}
	m.b = now
	return now
}

// Free gives the memory back to the system. It implements experimental.LinearMemory.
func (m *mapping) Free() { m.b = resizeMapping(m.b, 0) }

// runtimeBytes returns how many bytes of memory Go's runtime holds from the system.
func runtimeBytes() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}
