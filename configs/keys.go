package configs

import (
	"reflect"
	"strings"
)

// key is one leaf of the configuration: a scalar, a list of strings, or a list
// of objects.
type key struct {
	path  string // "limits.question_bytes"
	typ   reflect.Type
	value any // the default
}

// flag is the name of the key on the command line.
func (k key) flag() string { return strings.NewReplacer(".", "-", "_", "-").Replace(k.path) }

// variable is the name of the key in the environment.
func (k key) variable() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(k.path, ".", "_"))
}

// objects reports whether the key is a list of objects.
func (k key) objects() bool {
	return k.typ.Kind() == reflect.Slice && k.typ.Elem().Kind() == reflect.Struct
}

// strings reports whether the key is a list of strings.
func (k key) strings() bool {
	return k.typ.Kind() == reflect.Slice && k.typ.Elem().Kind() == reflect.String
}

// keys lists every leaf of Config in the order of its fields.
func keys() []key {
	var out []key
	walk("", reflect.ValueOf(defaults()), &out)
	return out
}

func walk(path string, v reflect.Value, out *[]key) {
	for i := range v.NumField() {
		name := tag(v.Type().Field(i))
		if name == "-" {
			continue
		}
		at := join(path, name)
		if section(v.Field(i).Type()) {
			walk(at, v.Field(i), out)
			continue
		}
		*out = append(*out, key{path: at, typ: v.Field(i).Type(), value: v.Field(i).Interface()})
	}
}

// section reports whether t holds keys, and is not a value itself.
func section(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[Instant]()
}

// children lists the keys inside t by name, in the order of its fields.
func children(t reflect.Type) (names []string, fields map[string]reflect.StructField) {
	fields = map[string]reflect.StructField{}
	for i := range t.NumField() {
		if name := tag(t.Field(i)); name != "-" {
			names = append(names, name)
			fields[name] = t.Field(i)
		}
	}
	return names, fields
}

func tag(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
