package configs

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/pflag"
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

// flags reads the flags that were set.
func (r *reader) flags(flags *pflag.FlagSet) error {
	if flags == nil {
		return nil
	}
	for _, k := range keys(r.config) {
		f := flags.Lookup(k.flag())
		if f == nil || !f.Changed || k.objects() {
			continue
		}
		source := "flag --" + f.Name
		if list, ok := f.Value.(pflag.SliceValue); ok {
			r.sources[k.path] = source
			k.value.Set(reflect.ValueOf(list.GetSlice()))
			continue
		}
		r.text(source, k.path, f.Value.String(), k.value)
	}
	return errors.Join(r.mistakes...)
}
