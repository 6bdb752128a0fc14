package configs

import (
	"reflect"
	"strings"
)

// key is one leaf of the configuration: a scalar, a list of strings, or a list
// of objects.
type key struct {
	path  string        // "limits.question_bytes"
	value reflect.Value // in the Config whose keys were listed
	tag   reflect.StructTag
}

// flag is the name of the key on the command line.
func (k key) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(k.path) }

// variable is the name of the key in the environment.
func (k key) variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(k.path, ".", "_"))
}

// objects reports whether the key is a list of objects.
func (k key) objects() bool { return k.isList() && k.value.Type().Elem().Kind() == reflect.Struct }

// isList reports whether the key is a list.
func (k key) isList() bool { return k.value.Kind() == reflect.Slice }

// keys lists every leaf of a configuration in the order of its fields.
func keys(c *Config) []key { return leaves("", "", reflect.ValueOf(c).Elem()) }

// leaves are the leaves of a section, which stands under a path. help is that of
// the section, for those of its leaves that have none.
func leaves(path, help string, section reflect.Value) (out []key) {
	for i := range section.NumField() {
		field := section.Type().Field(i)
		name := nameOf(field)
		if name == "-" {
			continue
		}
		k := key{path: join(path, name), value: section.Field(i), tag: field.Tag}
		switch {
		case isSection(field.Type):
			out = append(out, leaves(k.path, k.tag.Get("help"), k.value)...)
			continue
		case help != "":
			k.tag = reflect.StructTag(`help:"` + help + `"`)
		}
		out = append(out, k)
	}
	return out
}

// isSection reports whether t holds keys, and is not a value itself.
func isSection(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[Instant]()
}

// nameOf is a field's name in files; "-" for one that is no key.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
