package configs

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// key is a part of the configuration: a section, a list or a scalar.
type key struct {
	path  string        // "limits.question_bytes", "experts[1].name"; "" is the whole
	value reflect.Value // in the Config whose keys were listed
	tag   reflect.StructTag
}

// rootKey returns the section that is the whole configuration. Setting its keys changes c.
func rootKey(c *Config) key { return key{value: reflect.ValueOf(c).Elem()} }

// flagName returns the name of the key on the command line.
func (k key) flagName() string { return strings.NewReplacer(".", "-", "_", "-").Replace(k.path) }

// variableName returns the name of the key in the environment.
func (k key) variableName() string {
	return prefix + strings.ToUpper(strings.ReplaceAll(k.path, ".", "_"))
}

// isSection reports whether other keys stand under the key.
func (k key) isSection() bool {
	return k.value.Kind() == reflect.Struct && k.value.Type() != reflect.TypeFor[time.Time]()
}

// isList reports whether the key is a list.
func (k key) isList() bool { return k.value.Kind() == reflect.Slice }

// isObjectList reports whether the key is a list of objects.
func (k key) isObjectList() bool { return k.isList() && k.value.Type().Elem().Kind() == reflect.Struct }

// keysBelow returns the keys of a section, by their names there, and those names in order.
func (k key) keysBelow() (keys map[string]key, names []string) {
	keys = map[string]key{}
	for field, value := range k.value.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); name != "-" {
			keys[name] = key{strings.TrimPrefix(k.path+"."+name, "."), value, field.Tag}
			names = append(names, name)
		}
	}
	return keys, names
}

// itemAt returns item i of a list as a key, with the tag of the list.
func (k key) itemAt(i int) key {
	return key{fmt.Sprintf("%s[%d]", k.path, i), k.value.Index(i), k.tag}
}

// allLeaves returns the lists and scalars of a section in the order of its fields, each list
// before what is in it.
func (k key) allLeaves() (out []key) {
	if k.isSection() {
		keys, names := k.keysBelow()
		for _, name := range names {
			out = append(out, keys[name].allLeaves()...)
		}
		return out
	}
	out = append(out, k)
	for i := 0; k.isList() && i < k.value.Len(); i++ {
		out = append(out, k.itemAt(i).allLeaves()...)
	}
	return out
}
