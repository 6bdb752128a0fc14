package mapped

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"sync/atomic"
)

// A DamageError says that a file is not as it was written.
type DamageError struct {
	Path string // the file
	What string // what is wrong with it
}

// Error says which file is damaged, how, and to rebuild it.
func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged: %s; rebuild it", e.Path, e.What)
}

// verifyStep is how many bytes are summed between two checks of the context, in well
// under a millisecond.
const verifyStep = 1 << 20

// verification is the progress of Verify over a file.
type verification struct {
	outcome atomic.Pointer[outcome] // nil until everything was read
	turn    chan struct{}           // has room for the one caller that reads on
	section int                     // being read
	at      uint64                  // in the section
	sum     uint32                  // of the section before at
}

type outcome struct{ err error }

// Verify compares the checksums of all sections, once while the file is open: later calls return the first result at
// the price of an atomic load. Of several callers one reads and the others wait. If ctx ends first, the next call goes
// on from there. The error is a *DamageError, or wraps that of ctx.
func (f *File) Verify(ctx context.Context) error {
	if o := f.verified.outcome.Load(); o != nil {
		return o.err
	}
	select {
	case f.verified.turn <- struct{}{}:
		defer func() { <-f.verified.turn }()
	case <-ctx.Done():
		return fmt.Errorf("verifying %s: %w", f.path, ctx.Err())
	}
	if o := f.verified.outcome.Load(); o != nil {
		return o.err
	}
	err := f.verifyOn(ctx)
	var damage *DamageError
	if err != nil && !errors.As(err, &damage) {
		return fmt.Errorf("verifying %s: %w", f.path, err)
	}
	f.verified.outcome.Store(&outcome{err})
	return err
}

// verifyOn reads on from where the last call stopped, to the end of the file or until ctx ends, and returns a
// *DamageError for the first section whose checksum is wrong, or ctx's error. Only the caller that holds the turn may
// call it.
func (f *File) verifyOn(ctx context.Context) error {
	for v := &f.verified; v.section < len(f.head.sections); v.section, v.at, v.sum = v.section+1, 0, 0 {
		s := f.head.sections[v.section]
		for v.at < s.length {
			if err := ctx.Err(); err != nil {
				return err
			}
			end := min(v.at+verifyStep, s.length)
			v.sum = crc32.Update(v.sum, castagnoli, f.data[s.offset+v.at:s.offset+end])
			v.at = end
		}
		if err := f.checkSection(v.section, v.sum); err != nil {
			return err
		}
	}
	return nil
}

// checkSection returns a *DamageError if sum is not the checksum of a section.
func (f *File) checkSection(section int, sum uint32) error {
	if want := f.head.sections[section].sum; sum != want {
		return &DamageError{
			Path: f.path,
			What: fmt.Sprintf("the checksum of section %d is %08x, its content gives %08x", section, want, sum),
		}
	}
	return nil
}

// Check reads the whole file, even if Verify has, and returns a *DamageError if a section's checksum is wrong or a gap
// between sections is not zero.
func (f *File) Check() error {
	end := uint64(pageSize)
	for i, s := range f.head.sections {
		for _, b := range f.data[end:s.offset] {
			if b != 0 {
				return &DamageError{
					Path: f.path,
					What: fmt.Sprintf("there is something before section %d where nothing belongs", i),
				}
			}
		}
		end = s.offset + s.length
		if err := f.checkSection(i, crc32.Checksum(f.data[s.offset:end], castagnoli)); err != nil {
			return err
		}
	}
	return nil
}
