package folder

import (
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/rank"
)

// firstsName is the key of a segment's firsts in sharedFiles. They are shared like open files, but
// there is no such file.
const firstsName = "documents"

// firsts are the passages of a segment that are the first of their document, in the order of
// their ids: found when they are first asked for, by reading the segment once.
type firsts struct {
	store *corpus.Store

	mu    sync.Mutex
	known bool
	all   []rank.Ordinal
}

// Close does nothing. The error is always nil.
func (f *firsts) Close() error { return nil }

// firsts returns the cache of a segment's first passages. All generations with the segment share it. The error is
// always nil.
func (o *opening) firsts(store *corpus.Store) (*firsts, error) {
	key := filepath.Join(o.folder, firstsName)
	out, err := use(o.files, key, func() (*firsts, error) { return &firsts{store: store}, nil })
	if err == nil {
		o.keys = append(o.keys, key)
	}
	return out, err
}

// ordinals returns the passages that are the first of their document, deleted ones too, ascending. The first call
// reads all ids of the segment; the result is shared by all callers and must not be changed. After an error the next
// call reads again.
func (f *firsts) ordinals() ([]rank.Ordinal, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known {
		return f.all, nil
	}
	f.all = nil
	for o := range rank.Ordinal(f.store.Len()) {
		id, err := f.store.ID(o)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(id, "#1") {
			continue
		}
		p, err := f.store.Passage(o)
		if err != nil {
			return nil, err
		}
		if _, number, ok := corpus.DocumentOf(&p); ok && number == 1 {
			f.all = append(f.all, o)
		}
	}
	f.known = true
	return f.all, nil
}

// DocumentsAfter returns at most limit live passages that are the first of their document and whose ids come after id,
// in the order of the ids' bytes. "" is before all ids. It returns nil if limit is less than 1 or none is left. The
// first call reads all ids of each segment. It fails if an id cannot be read.
func (g *Generation) DocumentsAfter(id string, limit int) (out []rank.Ordinal, err error) {
	left := make([][]rank.Ordinal, len(g.segments))
	ids := make([]string, len(g.segments)) // of the first of left; "" where none is left
	advance := func(i int) (err error) {
		s := g.segments[i]
		for len(left[i]) > 0 && s.dead.Has(left[i][0]) {
			left[i] = left[i][1:]
		}
		ids[i] = ""
		if len(left[i]) > 0 {
			ids[i], err = s.store.ID(left[i][0])
		}
		return err
	}
	for i, s := range g.segments {
		left[i], err = s.firsts.ordinals()
		if err != nil {
			return nil, err
		}
		var failed error
		from := sort.Search(len(left[i]), func(n int) bool {
			at, err := s.store.ID(left[i][n])
			if err != nil {
				failed = err
			}
			return at > id
		})
		left[i] = left[i][from:]
		if failed == nil {
			failed = advance(i)
		}
		if failed != nil {
			return nil, failed
		}
	}
	for len(out) < limit {
		least := -1
		for i := range ids {
			if ids[i] != "" && (least < 0 || ids[i] < ids[least]) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		out = append(out, g.segments[least].base+left[least][0])
		left[least] = left[least][1:]
		if err := advance(least); err != nil {
			return nil, err
		}
	}
	return out, nil
}
