package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Set is the weights of a checkpoint, in one file or several.
type Set struct {
	files  []*File
	paths  []string
	places map[string]*File
	names  []string
}

// The names that published checkpoints use.
const (
	singleFile = "model.safetensors"
	indexFile  = "model.safetensors.index.json"
)

// OpenSet opens a checkpoint's weights: dir/model.safetensors, or the files
// that dir/model.safetensors.index.json names.
func OpenSet(dir string) (*Set, error) {
	single := filepath.Join(dir, singleFile)
	if _, err := os.Stat(single); err == nil {
		f, err := Open(single)
		if err != nil {
			return nil, err
		}
		s := &Set{places: map[string]*File{}}
		return s, s.add(f, single, nil)
	}
	index, err := os.ReadFile(filepath.Join(dir, indexFile))
	if errors.Is(err, os.ErrNotExist) {
		hint := ""
		if _, err := os.Stat(filepath.Join(dir, "pytorch_model.bin")); err == nil {
			hint = "; pytorch_model.bin is not read: load the model in transformers and save it again, which writes model.safetensors"
		}
		return nil, fmt.Errorf("%s has no %s%s: %w", dir, singleFile, hint, err)
	} else if err != nil {
		return nil, err
	}
	return openShards(dir, index)
}

func openShards(dir string, index []byte) (*Set, error) {
	path := filepath.Join(dir, indexFile)
	var parsed struct {
		Map map[string]string `json:"weight_map"`
	}
	if err := json.Unmarshal(index, &parsed); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	shards := map[string][]string{}
	for name, file := range parsed.Map {
		if file == "" || filepath.Base(file) != file || !filepath.IsLocal(file) {
			return nil, fmt.Errorf("%s: tensor %q is said to be in %q, which is no file beside it", path, name, file)
		}
		shards[file] = append(shards[file], name)
	}
	if len(shards) == 0 {
		return nil, fmt.Errorf("%s: no weight_map", path)
	}
	files := make([]string, 0, len(shards))
	for file := range shards {
		files = append(files, file)
	}
	slices.Sort(files)
	s := &Set{places: map[string]*File{}}
	for _, file := range files {
		f, err := Open(filepath.Join(dir, file))
		if err == nil {
			err = s.add(f, filepath.Join(dir, file), shards[file])
		}
		if err != nil {
			_ = s.Close()
			return nil, err
		}
	}
	return s, nil
}

// add takes f in; promised are the tensors that the index expects in it.
func (s *Set) add(f *File, path string, promised []string) error {
	s.files, s.paths = append(s.files, f), append(s.paths, path)
	slices.Sort(promised)
	for _, name := range promised {
		if _, ok := f.Info(name); !ok {
			return fmt.Errorf("%s: tensor %q is missing, which %s puts there", path, name, indexFile)
		}
	}
	for _, name := range f.Names() {
		if s.places[name] != nil {
			return fmt.Errorf("%s: tensor %q is in another file too", path, name)
		}
		s.places[name] = f
		s.names = append(s.names, name)
	}
	return nil
}

// Names lists the tensors of all files.
func (s *Set) Names() []string { return s.names }

// Paths lists the files.
func (s *Set) Paths() []string { return s.paths }

// Info finds a tensor by name.
func (s *Set) Info(name string) (Info, bool) {
	if f := s.places[name]; f != nil {
		return f.Info(name)
	}
	return Info{}, false
}

// Floats is File.Floats for whichever file has the tensor.
func (s *Set) Floats(name string, shape ...int) ([]float32, error) {
	f := s.places[name]
	if f == nil {
		return nil, fmt.Errorf("tensor %q is missing", name)
	}
	return f.Floats(name, shape...)
}

// Close closes all files.
func (s *Set) Close() error {
	var all []error
	for _, f := range s.files {
		all = append(all, f.Close())
	}
	return errors.Join(all...)
}
