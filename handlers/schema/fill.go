package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Fill stores parsed JSON, which a schema has checked, in the variable that into points to. It does what encoding/json
// does with the text, but takes the names of fields exactly, and leaves out those that the variable's type lacks. A
// type with an UnmarshalJSON method gets its part as text. It fails if a value does not fit its variable; what comes
// before is stored then.
func Fill(parsed, into any) error { return fillValue(parsed, reflect.ValueOf(into).Elem()) }

// fillValue stores parsed JSON in a variable of any type. It fails if the value does not fit. A variable with
// UnmarshalJSON, or with UnmarshalText for a string, fills itself. null sets pointers, interfaces, maps and slices to
// nil, and leaves other variables as they are. After an error a part may be stored.
func fillValue(parsed any, to reflect.Value) error {
	if to.CanAddr() {
		switch own := to.Addr().Interface().(type) {
		case json.Unmarshaler:
			text, err := json.Marshal(parsed)
			if err != nil {
				return err
			}
			return own.UnmarshalJSON(text)
		case encoding.TextUnmarshaler:
			if text, ok := parsed.(string); ok {
				return own.UnmarshalText([]byte(text))
			}
		}
	}
	if parsed == nil {
		switch to.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
			to.SetZero()
		}
		return nil
	}
	switch to.Kind() {
	case reflect.Pointer:
		if to.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
		}
		return fillValue(parsed, to.Elem())
	case reflect.Interface:
		plain, err := plainValue(parsed)
		if err == nil {
			to.Set(reflect.ValueOf(plain))
		}
		return err
	case reflect.Struct:
		return fillStruct(parsed, to)
	case reflect.Map:
		return fillMap(parsed, to)
	case reflect.Slice:
		list, ok := parsed.([]any)
		if !ok {
			break
		}
		to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
		for i, item := range list {
			if err := fillValue(item, to.Index(i)); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		return nil
	default:
		return fillScalar(parsed, to)
	}
	return unfitError(parsed, to)
}

// fillScalar stores a string, a boolean or a number in a variable. It fails if the value is of another type or out of
// range.
func fillScalar(parsed any, to reflect.Value) error {
	switch value := parsed.(type) {
	case string:
		if to.Kind() == reflect.String {
			to.SetString(value)
			return nil
		}
	case bool:
		if to.Kind() == reflect.Bool {
			to.SetBool(value)
			return nil
		}
	case json.Number:
		switch {
		case to.CanInt():
			n, err := strconv.ParseInt(value.String(), 10, to.Type().Bits())
			to.SetInt(n)
			return err
		case to.CanUint():
			n, err := strconv.ParseUint(value.String(), 10, to.Type().Bits())
			to.SetUint(n)
			return err
		case to.CanFloat():
			x, err := strconv.ParseFloat(value.String(), to.Type().Bits())
			to.SetFloat(x)
			return err
		}
	}
	return unfitError(parsed, to)
}

// fillMap stores a parsed object in a new map with string keys. It fails if parsed is not an object, the keys are of
// another type, or a value does not fit.
func fillMap(parsed any, to reflect.Value) error {
	object, ok := parsed.(map[string]any)
	if !ok || to.Type().Key().Kind() != reflect.String {
		return unfitError(parsed, to)
	}
	to.Set(reflect.MakeMapWithSize(to.Type(), len(object)))
	for name, value := range object {
		item := reflect.New(to.Type().Elem()).Elem()
		if err := fillValue(value, item); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		to.SetMapIndex(reflect.ValueOf(name).Convert(to.Type().Key()), item)
	}
	return nil
}

// fillStruct stores a parsed object in a struct. Fields that the struct lacks are left out, and fields that the object
// lacks stay as they are. It fails if parsed is not an object or a value does not fit.
func fillStruct(parsed any, to reflect.Value) error {
	object, ok := parsed.(map[string]any)
	if !ok {
		return unfitError(parsed, to)
	}
	for name, at := range jsonFields(to.Type()) {
		value, given := object[name]
		if !given {
			continue
		}
		if err := fillValue(value, to.FieldByIndex(at)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// structFields caches what jsonFields returns, by type.
var structFields sync.Map

// jsonFields returns the exported fields of the struct type t by their JSON names, as indexes for
// reflect.Value.FieldByIndex. Fields of embedded structs are included, fields with the tag "-" are not. The map is
// shared and must not be changed.
func jsonFields(t reflect.Type) map[string][]int {
	if known, ok := structFields.Load(t); ok {
		return known.(map[string][]int)
	}
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() || f.Anonymous && name == "":
			continue // what is embedded is visible by its own fields
		case name == "":
			name = f.Name
		}
		fields[name] = f.Index
	}
	structFields.Store(t, fields)
	return fields
}

// plainValue returns a copy of parsed JSON in which numbers are float64. It fails if one is out of range.
func plainValue(parsed any) (any, error) {
	switch value := parsed.(type) {
	case json.Number:
		x, err := value.Float64()
		return x, err
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			plain, err := plainValue(item)
			if err != nil {
				return nil, err
			}
			out[i] = plain
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, item := range value {
			plain, err := plainValue(item)
			if err != nil {
				return nil, err
			}
			out[name] = plain
		}
		return out, nil
	}
	return parsed, nil
}

// unfitError returns the error that a value does not fit the type of a variable.
func unfitError(parsed any, to reflect.Value) error {
	return fmt.Errorf("%s does not fit %s", withArticle(typeName(parsed)), to.Type())
}
