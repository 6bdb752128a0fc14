package configs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// DefaultFile is read when no file is named, and may be absent.
const DefaultFile = "conclave.yaml"

// Sources are what a configuration is made of. Every field may be empty.
type Sources struct {
	// File is the configuration file. When it is "", the flag --config, then
	// CONCLAVE_CONFIG, then conclave.yaml in Dir are asked; a file that is named
	// has to exist.
	File string
	// Dir is the folder to look for conclave.yaml in; "" is the current one.
	Dir string
	// Flags holds the flags of the command. Those that were set and are named as
	// a key (limits.k is --limits-k) count; the others are not looked at.
	Flags *pflag.FlagSet
	// Environ has the form of os.Environ.
	Environ []string
}

// Load reads flags over environment over file over defaults and checks the
// result. Every mistake is reported, not just the first; each is an *Error.
// Relative paths in the file count from the file's folder, elsewhere from the
// current one.
func Load(s Sources) (Config, error) {
	file, named := s.file()
	fromFile := newLayer()
	text, err := os.ReadFile(file)
	switch {
	case err == nil:
		if fromFile, err = readFile(file, text); err != nil {
			return Config{}, err
		}
		fromFile.anchor(filepath.Dir(file))
	case errors.Is(err, fs.ErrNotExist) && !named:
		file = ""
	default:
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	fromEnvironment, warnings, err := readEnvironment(s.Environ)
	if err != nil {
		return Config{}, err
	}

	v := viper.New()
	sources := map[string]string{}
	for _, k := range keys() {
		// Every key needs a default, since viper's Unmarshal sees no other keys.
		v.SetDefault(k.path, k.value)
	}
	for _, l := range []*layer{fromFile, fromEnvironment} {
		for at, value := range l.values {
			v.SetDefault(at, value)
		}
		maps.Copy(sources, l.sources)
	}
	if err := bindFlags(v, s.Flags, sources); err != nil {
		return Config{}, err
	}

	c := Config{}
	if err := v.UnmarshalExact(&c, decoding); err != nil {
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	c.File, c.Warnings = file, warnings
	if err := c.check(sources); err != nil {
		return Config{}, err
	}
	return c.derived(), nil
}

// decoding tells mapstructure to use the yaml tags and to read durations,
// sizes and lists from the strings of flags.
func decoding(d *mapstructure.DecoderConfig) {
	d.TagName = "yaml"
	d.DecodeHook = mapstructure.ComposeDecodeHookFunc(
		mapstructure.StringToTimeDurationHookFunc(),
		mapstructure.StringToSliceHookFunc(","),
		mapstructure.TextUnmarshallerHookFunc(),
	)
}

// file is the configuration file to read and whether somebody named it.
func (s Sources) file() (name string, named bool) {
	if s.File != "" {
		return s.File, true
	}
	if s.Flags != nil {
		if f := s.Flags.Lookup("config"); f != nil && f.Value.String() != "" {
			return f.Value.String(), true
		}
	}
	if named := Variable(s.Environ, variableFile); named != "" {
		return named, true
	}
	return filepath.Join(s.Dir, DefaultFile), false
}

// anchor makes the relative paths of a file count from its folder.
func (l *layer) anchor(folder string) {
	if folder == "." {
		return
	}
	at := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(folder, path)
	}
	for _, name := range []string{"collection", "snapshots", "bundles", "cache", "runtime"} {
		if path, ok := l.values[name].(string); ok {
			l.values[name] = at(path)
		}
	}
	if experts, ok := l.values["experts"].([]Expert); ok {
		for i := range experts {
			experts[i].Bundle = at(experts[i].Bundle)
		}
	}
}
