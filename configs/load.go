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

// Load reads flags over environment over file over defaults and checks the result. Of
// the flags those count that were set and are named as a key (limits.k is --limits-k);
// flags may be nil. environ has the form of os.Environ. The file is the one that the flag
// --config names, then CONCLAVE_CONFIG, and has to exist; else it is conclave.yaml in the
// current folder, if that exists.
//
// Every mistake is reported, not just the first; each is an *Error. Relative paths in the
// file count from the file's folder, elsewhere from the current one.
func Load(flags *pflag.FlagSet, environ []string) (Config, error) {
	if flags == nil {
		flags = &pflag.FlagSet{}
	}
	r := resolver{config: Defaults(), places: map[string]string{}}
	file, named := whichFile(flags, environ)
	text, err := os.ReadFile(file)
	switch {
	case err == nil:
		if err := r.readFile(file, text); err != nil {
			return Config{}, err
		}
		r.anchorPaths(filepath.Dir(file))
		r.config.File = file
	case named || !errors.Is(err, fs.ErrNotExist):
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	r.readOver(r.readEnvironment(environ), flags)
	r.readKeys(environ)
	if len(r.mistakes) == 0 {
		r.checkValues()
		r.checkTogether()
	}
	if err := errors.Join(r.mistakes...); err != nil {
		return Config{}, err
	}
	return r.config, nil
}

// whichFile returns the configuration file to read, and whether a flag or a variable names it: then it has to exist.
func whichFile(flags *pflag.FlagSet, environ []string) (name string, named bool) {
	if f := flags.Lookup("config"); f != nil && f.Value.String() != "" {
		return f.Value.String(), true
	}
	if named := Variable(environ, variableFile); named != "" {
		return named, true
	}
	return defaultFile, false
}

// anchorPaths puts folder, the folder of the configuration file, before relative paths that the file sets. Defaults
// stay relative to the current folder.
func (r *resolver) anchorPaths(folder string) {
	for _, k := range rootKey(&r.config).allLeaves() {
		if path := k.value.String(); k.tag.Get("is") == "path" && r.places[k.path] != "" && path != "" && folder != "." &&
			!filepath.IsAbs(path) {
			k.value.SetString(filepath.Join(folder, path))
		}
	}
}
