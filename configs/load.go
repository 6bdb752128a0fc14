package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
)

// defaultFile is read when no file is named, and may be absent.
const defaultFile = "conclave.yaml"

// Sources are what a configuration is made of. Every field may be empty.
type Sources struct {
	// Dir is the folder to look for conclave.yaml in; "" is the current one.
	Dir string
	// Flags holds the flags of the command. Those that were set and are named as
	// a key (limits.k is --limits-k) count; the others are not looked at.
	Flags *pflag.FlagSet
	// Environ has the form of os.Environ.
	Environ []string
}

// Load reads flags over environment over file over defaults and checks the
// result. The file is the one that the flag --config names, then CONCLAVE_CONFIG, and
// has to exist; else it is conclave.yaml in Dir, if that exists. Every mistake is reported, not just the first; each is an *Error.
// Relative paths in the file count from the file's folder, elsewhere from the
// current one.
func Load(s Sources) (Config, error) {
	file, named := s.file()
	r := newReader(defaults())
	text, err := os.ReadFile(file)
	switch {
	case err == nil:
		if err := r.file(file, text); err != nil {
			return Config{}, err
		}
		r.anchor(filepath.Dir(file))
		r.config.File = file
	case errors.Is(err, fs.ErrNotExist) && !named:
	default:
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	if err := r.environment(s.Environ); err != nil {
		return Config{}, err
	}
	c, err := r.bind(s.Flags)
	if err != nil {
		return Config{}, err
	}
	if err := c.check(r.sources); err != nil {
		return Config{}, err
	}
	return c.derived(), nil
}

// file is the configuration file to read and whether somebody named it.
func (s Sources) file() (name string, named bool) {
	if s.Flags != nil {
		if f := s.Flags.Lookup("config"); f != nil && f.Value.String() != "" {
			return f.Value.String(), true
		}
	}
	if named := Variable(s.Environ, variableFile); named != "" {
		return named, true
	}
	return filepath.Join(s.Dir, defaultFile), false
}

// anchor makes the relative paths of a file count from its folder.
func (r *reader) anchor(folder string) {
	at := func(path *string) {
		if *path != "" && folder != "." && !filepath.IsAbs(*path) {
			*path = filepath.Join(folder, *path)
		}
	}
	c := r.config
	for name, path := range map[string]*string{"collection": &c.Collection, "snapshots": &c.Snapshots, "bundles": &c.Bundles, "cache": &c.Cache, "runtime": &c.Runtime,
		"cluster.ca": &c.Cluster.CA, "cluster.password_file": &c.Cluster.PasswordFile, "cluster.api_key_file": &c.Cluster.APIKeyFile} {
		if r.sources[name] != "" { // else it is the default, which counts from the current folder
			at(path)
		}
	}
	for i := range c.Experts {
		at(&c.Experts[i].Bundle)
	}
}
