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

	"example.org/conclave/documents"
)

// Held describes documents of one folder that Sync did not delete although their files are gone. Their loss may be a
// mistake: a folder whose drive is not mounted looks like an emptied one.
type Held struct {
	Folder    string `json:"folder"`              // the root, or the empty or unmounted folder below it
	Documents int    `json:"documents"`           // number of documents that stay
	Of        int    `json:"of"`                  // number of all documents of the root in the collection
	Empty     bool   `json:"empty"`               // the folder has no file
	Unmounted bool   `json:"unmounted,omitempty"` // the folder was a mount point when they were read, and is none now
	// If neither is true, more than half of the documents are gone.
}

// String returns a sentence for people: how many documents of which folder stay, and why. It does not say how to delete
// them.
func (h Held) String() string {
	if h.Unmounted {
		return fmt.Sprintf("%s was mounted when its files were read, and is not now: the documents from there whose files are gone (%d) stay",
			h.Folder, h.Documents)
	}
	if h.Empty {
		return fmt.Sprintf("%s is empty, and the collection has documents from there (%d): they stay, since a folder that is not mounted looks the same",
			h.Folder, h.Documents)
	}
	return fmt.Sprintf("the files of %d of the %d documents of %s are gone: as these are more than half, they stay", h.Documents, h.Of, h.Folder)
}

// holdDeletions returns the set of ids of documents that must not be deleted although their files are gone, and appends
// them, by folder, to SyncReport.Held. found are the files of all roots. A document is held if
//
//  1. its file was on a file system that was mounted below the root, and nothing is mounted there now;
//  2. its root is an empty folder;
//  3. its file was in a folder below the root that exists and is empty; but not if the folder had fewer than
//     manyDocuments documents and was modified after their files: then somebody deleted them one by one;
//  4. more than half of the documents of its root would be deleted, not counting moved ones, whose content a new file
//     of the root has.
//
// With DeleteAll the set is nil. It returns an error if a folder cannot be read.
func (s *syncing) holdDeletions(found []documents.FoundFile) (held map[string]bool, err error) {
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
		root := s.rootOf(h.mark)
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
		ids := s.holdUnmounted(root, gone[root], all[root], held)
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

// holdUnmounted adds to held those documents of a root whose files were on a file system that was mounted below it,
// if nothing is mounted there now, and appends them, by mount point, to SyncReport.Held. gone are the ids of the
// documents whose files are gone, and rootSize is the number of all documents of the root. It returns the other ids
// of gone.
func (s *syncing) holdUnmounted(root string, gone []string, rootSize int, held map[string]bool) (others []string) {
	count := map[string]int{} // by the mount point
	for _, id := range gone {
		_, mount := documents.SplitMark(s.had[id].mark)
		if mount == "" || s.mounted[mountPoint{root, mount}] {
			others = append(others, id)
			continue
		}
		held[id] = true
		count[filepath.Join(root, documents.MountPointAbove(id, mount))]++
	}
	for _, folder := range slices.Sorted(maps.Keys(count)) {
		s.synced.Held = append(s.synced.Held, Held{Folder: folder, Documents: count[folder], Of: rootSize, Unmounted: true})
	}
	return others
}

// manyDocuments is the number of documents from which those of an emptied folder below a root are always held.
const manyDocuments = 5

// changedAfter reports whether a folder's modification time is in a later second than t: files were added to it or
// deleted from it since. The empty folder of a drive that is not mounted is usually older than the drive's files. It
// returns an error if the folder cannot be read.
func changedAfter(folder string, t time.Time) (bool, error) {
	info, err := os.Stat(folder)
	if err != nil {
		return false, err
	}
	return info.ModTime().Truncate(time.Second).After(t.Truncate(time.Second)), nil
}

// anyAbove reports whether a set contains the id, or the id of an archive or folder that the document is in (idsAbove).
func anyAbove(id string, set map[string]bool) bool {
	for id := range idsAbove(id) {
		if set[id] {
			return true
		}
	}
	return false
}

// countMoved returns how many of the documents with these ids have the same content as a file of the root that is new
// to the collection. It reads those new files and skips unreadable ones.
func (s *syncing) countMoved(root string, ids []string, found []documents.FoundFile) (moved int) {
	fresh := map[[sha256.Size]byte]bool{}
	for _, f := range found {
		if s.rootOf(f.Mark) != root || s.had[f.Path] != nil || f.Size == 0 {
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

// emptyFolders returns, by document id, the nearest existing folder above the place of the document's missing file, if
// that folder is empty. Ids whose nearest folder is not empty are left out. It returns an error if a folder cannot be
// read.
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

// folderState says whether a path has a folder, and whether it has files.
type folderState int

const (
	folderAbsent folderState = iota + 1
	folderEmpty
	folderFilled // a folder with files at any depth, or something that is not a folder
)

// nearestFolder returns the path and the state of the folder at root/below, or, if there is none, of the nearest
// existing folder above it, at the most root itself. below is a path with slashes. seen caches the states by path. It
// returns an error if a folder cannot be read.
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

// stateOfFolder returns what is at a path. A folder that has only hidden files (names that begin with a dot) and empty
// folders is empty; one with a folder that cannot be read is not. It returns an error if the path cannot be read for
// another reason than that nothing is there.
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
		entries, err := f.ReadDir(64)
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), ".") {
				continue
			}
			if !entry.IsDir() {
				return folderFilled, nil
			}
			state, err := stateOfFolder(filepath.Join(at, entry.Name()))
			if err != nil || state == folderFilled {
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
