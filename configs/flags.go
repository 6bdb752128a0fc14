package configs

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// AddFlags adds a flag for each of the keys at paths (limits.k becomes --limits-k), so that help shows its type and
// default. It panics for a path that is no key, or a list of objects, which cannot be a flag.
func AddFlags(flags *pflag.FlagSet, paths ...string) {
	c := Defaults()
	keys := map[string]key{}
	for _, k := range rootKey(&c).allLeaves() {
		keys[k.path] = k
	}
	for _, path := range paths {
		k, ok := keys[path]
		if !ok || k.isObjectList() {
			panic(fmt.Sprintf("no key %q that could be a flag", path)) // of the program
		}
		usage := strings.NewReplacer("<", "`", ">", "`").Replace(k.tag.Get("help"))
		if value, ok := k.value.Interface().(bool); ok {
			flags.Bool(k.flagName(), value, usage)
		} else {
			flags.Var(&text{fmt.Sprint(k.value), k.value.CanInt() || k.value.CanFloat()}, k.flagName(), usage)
		}
	}
}

// text is the value of a flag as somebody wrote it.
type text struct {
	written string
	number  bool
}

// String implements pflag.Value: it returns the text as it was written.
func (t *text) String() string { return t.written }

// Set implements pflag.Value: it stores the text as it was written, and never fails.
func (t *text) Set(s string) error {
	t.written = s
	return nil
}

// Type implements pflag.Value; help quotes the default of a string.
func (t *text) Type() string {
	if t.number {
		return "number"
	}
	return "string"
}

// readOver reads the variables, by their names, and the flags over what was read before. viper binds both, and lets a
// flag that was set count where the key has a variable, too. It does not read the file and the defaults: its errors
// name neither the line of a wrong value nor a key that may be meant, which resolver.readFile does. It adds a mistake
// for each value that does not fit its key.
func (r *resolver) readOver(variables map[string]string, flags *pflag.FlagSet) {
	bound := viper.New()
	for _, k := range rootKey(&r.config).allLeaves() {
		source := "environment " + k.variableName()
		if text, ok := variables[k.variableName()]; ok {
			bound.SetDefault(k.path, text)
		}
		if f := flags.Lookup(k.flagName()); f != nil && !k.isObjectList() {
			if err := bound.BindPFlag(k.path, f); err != nil {
				panic(err) // of a flag that is nil
			}
			if f.Changed {
				source = "flag --" + f.Name
			}
		}
		if bound.IsSet(k.path) {
			r.readText(source, k, bound.GetString(k.path))
		}
	}
}
