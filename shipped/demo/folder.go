package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.org/conclave/configs"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/provision"
	"example.org/conclave/models"
	"example.org/conclave/shipped"
	"example.org/conclave/store"
	"example.org/conclave/store/folder"
)

// demoFolder returns the path in the cache of the folder with the demo's collections and documents.
func demoFolder(cache provision.Cache) string { return filepath.Join(cache.Root, "demo") }

// Experts returns the configuration of the base encoder and then the named experts, with their bundles of 8 bits in
// the cache.
func Experts(cache provision.Cache, names []string) []configs.Expert {
	var all []configs.Expert
	for _, name := range append([]string{shipped.Base}, names...) {
		all = append(all, configs.Expert{Name: name, Bundle: cache.Bundle(name)})
	}
	return all
}

// Folder returns the path of the demo's collection with these experts, whether or not it is there. Its name changes
// with the corpus, with every encoder, with how words are indexed and with the format of collections, so that an old
// one is never taken for a new one. It fails if a bundle cannot be read.
func Folder(cache provision.Cache, experts []configs.Expert) (string, error) {
	return folderOfFormats(cache, experts, folder.ManifestFormats())
}

// folderOfFormats returns the path of the demo's collection where these formats of collections are read. It fails if a
// bundle cannot be read.
func folderOfFormats(cache provision.Cache, experts []configs.Expert, formats []int) (string, error) {
	sum := sha256.New()
	for _, x := range experts {
		bundle, err := models.Peek(x.Bundle)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%s %s\n", x.Name, bundle.Fingerprint(models.Passage))
	}
	documents, err := sumOfDocuments()
	_, _ = fmt.Fprintf(sum, "%+v\n%s\n%d", store.UnicodeWords(), documents, formats)
	return filepath.Join(demoFolder(cache), hex.EncodeToString(sum.Sum(nil)[:sumBytes])), err
}

// sumOfDocuments returns 16 hexadecimal digits that change with the names and content of the demo's documents. It
// fails only if the embedded files cannot be read.
func sumOfDocuments() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(FS, documentsName, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := FS.ReadFile(path)
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", path, len(data), data)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:sumBytes]), err
}

// documentsName is the name of the folder of documents, and the beginning of their folder's name in the cache.
const documentsName = "documents"

// Documents returns the folder of the demo's documents in the cache, and writes them if they are not there. Several
// processes may call it at the same time. It fails if the cache cannot be written.
func Documents(cache provision.Cache) (string, error) {
	sum, err := sumOfDocuments()
	if err != nil {
		return "", err
	}
	at := filepath.Join(demoFolder(cache), documentsName+"-"+sum)
	if info, err := os.Stat(at); err == nil && info.IsDir() {
		return at, nil
	}
	documents, err := fs.Sub(FS, documentsName)
	if err != nil {
		return "", err
	}
	if err := disk.MkdirAll(demoFolder(cache), 0o755); err != nil {
		return "", err
	}
	// Under another name at first, so that a folder that is there is whole.
	writing, err := os.MkdirTemp(demoFolder(cache), documentsName+"-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(writing) }()
	if err := os.CopyFS(writing, documents); err != nil {
		return "", err
	}
	err = errors.Join(os.Chmod(writing, 0o755), os.Rename(writing, at))
	if info, missing := os.Stat(at); missing == nil && info.IsDir() {
		return at, nil // by another process, if not by this one
	}
	return "", err
}

// Found returns the folder of the demo's collection with the default experts in 8 bits; "" if there is none or their
// bundles cannot be read.
func Found(cache provision.Cache) string {
	at, err := Folder(cache, Experts(cache, []string{shipped.Late}))
	if err != nil {
		return ""
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return ""
	}
	return at
}

// sumBytes is the number of bytes of a hash in a folder's name.
const sumBytes = 8

// MakeRoom makes the folder of the demo's collections, and removes from it the collections and documents of other
// versions, except current, a path as from Folder, and collections to which a process writes. A folder that cannot be
// removed is no error.
func MakeRoom(cache provision.Cache, current string) error {
	documents, _ := sumOfDocuments()
	entries, _ := os.ReadDir(demoFolder(cache))
	for _, e := range entries {
		name, ofDocuments := strings.CutPrefix(e.Name(), documentsName+"-")
		sum, err := hex.DecodeString(name)
		old := filepath.Join(demoFolder(cache), e.Name())
		switch {
		case err != nil || len(sum) != sumBytes || old == current || ofDocuments && name == documents:
		case ofDocuments:
			_ = os.RemoveAll(old)
		default:
			_ = provision.RemoveUnused(old)
		}
	}
	return provision.ExplainFull(disk.MkdirAll(demoFolder(cache), 0o755), cache.Root)
}
