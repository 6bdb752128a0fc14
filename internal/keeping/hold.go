package keeping

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Held says that documents stay in a collection although their files are gone, since that may have happened by
// mistake: a folder that is not mounted looks like one that was emptied.
type Held struct {
	Folder    string `json:"folder"`    // the root, or the empty folder below it
	Documents int    `json:"documents"` // that stay
	Of        int    `json:"of"`        // documents that the collection has of the root
	Empty     bool   `json:"empty"`     // the folder has no file; otherwise more than half of the documents are gone
}

// String says what stays, and why.
func (h Held) String() string {
	if h.Empty {
		return fmt.Sprintf("%s is empty, and the collection has documents from there (%d): they stay, since a folder that is not mounted looks the same",
			h.Folder, h.Documents)
	}
	return fmt.Sprintf("the files of %d of the %d documents of %s are gone: as these are more than half, they stay", h.Documents, h.Of, h.Folder)
}

// holdDeletions returns the ids of documents that are not to be deleted though their files are gone, and notes
// them in Synced.Held. They are those
//
//  1. of a root that is empty;
//  2. of a folder below it that is there and empty, unless they seem to have been deleted one by one: there are
//     fewer than manyDocuments, and the folder has changed since their files did;
//  3. of a root of which more than half of the documents would be deleted, not counting those whose content a
//     new file of the root has.
//
// There are none with DeleteAll. The error is that of a folder that cannot be read.
func (s *syncing) holdDeletions(found []foundFile) (held map[string]bool, err error) {
	if s.DeleteAll {
		return nil, nil
	}
	present := map[string]bool{}
	for _, f := range found {
		if f.Size > 0 {
			present[f.Path] = true
		}
	}
	gone := map[string][]string{} // by root
	all := map[string]int{}
	for id, h := range s.had {
		root := s.marks[h.root]
		if root == "" {
			continue
		}
		all[root]++
		if !s.stays(id) && !anyAbove(id, present) {
			gone[root] = append(gone[root], id)
		}
	}
	held = map[string]bool{}
	for _, root := range s.Roots {
		ids := gone[root]
		emptied, err := emptyFolders(root, ids)
		if err != nil {
			return nil, err
		}
		count := map[string]int{} // by folder
		newest := map[string]time.Time{}
		for id, folder := range emptied {
			count[folder]++
			if modified := s.had[id].modified; modified.After(newest[folder]) {
				newest[folder] = modified
			}
		}
		left := len(ids)
		for _, folder := range slices.Sorted(maps.Keys(count)) {
			deleted, err := changedAfter(folder, newest[folder])
			if err != nil {
				return nil, err
			}
			if deleted && count[folder] < manyDocuments && folder != filepath.Clean(root) {
				continue
			}
			for id, in := range emptied {
				if in == folder {
					held[id] = true
				}
			}
			left -= count[folder]
			s.synced.Held = append(s.synced.Held, Held{Folder: folder, Documents: count[folder], Of: all[root], Empty: true})
		}
		if 2*left <= all[root] {
			continue
		}
		if 2*(left-s.countMoved(root, ids, found)) <= all[root] {
			continue
		}
		for _, id := range ids {
			held[id] = true
		}
		s.synced.Held = append(s.synced.Held, Held{Folder: root, Documents: left, Of: all[root]})
	}
	return held, nil
}

// manyDocuments is how many documents of an emptied folder below a root are not deleted without being asked.
const manyDocuments = 5

// changedAfter reports whether files were added to or deleted from a folder in a later second than a time. In a
// folder that another was mounted on, which hid it, that was before the files of the other were written.
func changedAfter(folder string, t time.Time) (bool, error) {
	info, err := os.Stat(folder)
	if err != nil {
		return false, err
	}
	return info.ModTime().Truncate(time.Second).After(t.Truncate(time.Second)), nil
}

// anyAbove reports whether a set has the id of a document or of an archive or folder that it lies in.
func anyAbove(id string, set map[string]bool) bool {
	for id := range idsAbove(id) {
		if set[id] {
			return true
		}
	}
	return false
}

// countMoved returns how many of the documents with these ids have the content of a file of the root that the
// collection does not have yet. Files that cannot be read are passed over.
func (s *syncing) countMoved(root string, ids []string, found []foundFile) (moved int) {
	fresh := map[[sha256.Size]byte]bool{}
	for _, f := range found {
		if s.marks[f.mark] != root || s.had[f.Path] != nil || f.Size == 0 {
			continue
		}
		if data, err := f.Data(); err == nil {
			fresh[sha256.Sum256(data)] = true
		}
	}
	for _, id := range ids {
		if fresh[s.had[id].sum] {
			moved++
		}
	}
	return moved
}

// emptyFolders returns, for each id of a document whose file would be in a folder that is there and empty, that
// folder: the nearest one above the file that is there. Other ids are left out.
func emptyFolders(root string, ids []string) (map[string]string, error) {
	folders := map[string]folderState{}
	out := map[string]string{}
	for _, id := range ids {
		// The id may begin with the names of folders above the root.
		for rest, more := id, true; more; _, rest, more = strings.Cut(rest, "/") {
			folder, state, err := nearestFolder(root, path.Dir(rest), folders)
			if err != nil {
				return nil, err
			}
			if state == folderEmpty {
				out[id] = folder
				break
			}
		}
	}
	return out, nil
}

// folderState says what is at a path.
type folderState int

const (
	folderAbsent folderState = iota + 1
	folderEmpty
	folderFilled // or what is there is no folder
)

// nearestFolder returns the folder at a path below the root, or the nearest one above it that is there, and
// whether that is empty. seen remembers what was found.
func nearestFolder(root, below string, seen map[string]folderState) (string, folderState, error) {
	for {
		at := filepath.Join(root, filepath.FromSlash(below))
		state, known := seen[at]
		if !known {
			var err error
			state, err = stateOfFolder(at)
			if err != nil {
				return "", 0, err
			}
			seen[at] = state
		}
		if state != folderAbsent || below == "." {
			return at, state, nil
		}
		below = path.Dir(below)
	}
}

// stateOfFolder returns what is at a path. A folder that has hidden files alone is empty.
func stateOfFolder(at string) (folderState, error) {
	info, err := os.Stat(at)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return folderAbsent, nil
	}
	if err != nil {
		return 0, err
	}
	if !info.IsDir() {
		return folderFilled, nil
	}
	f, err := os.Open(at)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	for {
		names, err := f.Readdirnames(64)
		for _, name := range names {
			if !strings.HasPrefix(name, ".") {
				return folderFilled, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return folderEmpty, nil
		}
		if err != nil {
			return 0, err
		}
	}
}
