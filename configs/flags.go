package configs

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// AddFlags adds a flag for each of the named keys ("limits.k" becomes
// --limits-k), so that help shows its type and default. A flag that is there
// already stays as it is. Lists of objects have no form on a command line.
func AddFlags(flags *pflag.FlagSet, paths ...string) error {
	c := defaults()
	known := map[string]key{}
	for _, k := range keys(&c) {
		known[k.path] = k
	}
	for _, path := range paths {
		k, ok := known[path]
		if !ok || k.objects() {
			return fmt.Errorf("no key %q that could be a flag", path)
		}
		if flags.Lookup(k.flag()) != nil {
			continue
		}
		usage := strings.NewReplacer("<", "`", ">", "`").Replace(k.tag.Get("help"))
		if usage == "" {
			usage = "sets " + path
		}
		switch value := k.value.Interface().(type) {
		case bool:
			flags.Bool(k.flag(), value, usage)
		case int:
			flags.Int(k.flag(), value, usage)
		case float64:
			flags.Float64(k.flag(), value, usage)
		case time.Duration:
			flags.Duration(k.flag(), value, usage)
		case []string:
			flags.StringSlice(k.flag(), value, usage)
		default:
			flags.String(k.flag(), fmt.Sprint(value), usage)
		}
	}
	return nil
}

// bind is the configuration with the flags that were set over what was read before:
// viper merges the two.
func (r *reader) bind(flags *pflag.FlagSet) (Config, error) {
	v := viper.New()
	for _, k := range keys(r.config) {
		v.SetDefault(k.path, k.value.Interface())
		var f *pflag.Flag
		if flags != nil && !k.objects() {
			f = flags.Lookup(k.flag())
		}
		if f == nil || !f.Changed {
			continue
		}
		source := "flag --" + f.Name
		r.sources[k.path] = source
		if !k.isList() {
			r.text(source, k.path, f.Value.String(), reflect.New(k.value.Type()).Elem()) // so that a mistake is named
		}
		if err := v.BindPFlag(k.path, f); err != nil {
			return Config{}, fmt.Errorf("binding flag --%s: %w", f.Name, err)
		}
	}
	if err := errors.Join(r.mistakes...); err != nil {
		return Config{}, err
	}
	c := Config{File: r.config.File, Warnings: r.config.Warnings}
	if err := v.UnmarshalExact(&c, decoding); err != nil {
		return Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	for name, into := range secrets(&c) {
		*into = *secrets(r.config)[name] // viper knows keys alone
	}
	return c, nil
}

// decoding tells viper to go by the yaml tags, and to read durations, sizes and lists
// from the text of flags.
func decoding(d *mapstructure.DecoderConfig) {
	d.TagName = "yaml"
	d.DecodeHook = mapstructure.ComposeDecodeHookFunc(
		mapstructure.StringToTimeDurationHookFunc(), mapstructure.StringToSliceHookFunc(","), mapstructure.TextUnmarshallerHookFunc())
}
