package configs

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// AddFlags adds a flag for each of the named keys ("limits.k" becomes
// --limits-k), so that help shows its type and default. Lists of objects have no form
// on a command line.
func AddFlags(flags *pflag.FlagSet, paths ...string) {
	c, keys := Defaults(), map[string]key{}
	for _, k := range root(&c).leaves() {
		keys[k.path] = k
	}
	for _, path := range paths {
		k, ok := keys[path]
		if !ok || k.objects() {
			panic(fmt.Sprintf("no key %q that could be a flag", path)) // of the program
		}
		usage := strings.NewReplacer("<", "`", ">", "`").Replace(k.tag.Get("help"))
		if value, ok := k.value.Interface().(bool); ok {
			flags.Bool(k.flag(), value, usage)
		} else {
			flags.String(k.flag(), fmt.Sprint(k.value), usage)
		}
	}
}

// flags reads the flags that were set.
func (r *reader) flags(flags *pflag.FlagSet) {
	for _, k := range root(&r.config).leaves() {
		if f := flags.Lookup(k.flag()); f != nil && f.Changed && !k.objects() {
			r.text("flag --"+f.Name, k, f.Value.String())
		}
	}
}
