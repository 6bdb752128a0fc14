package onnx

import (
	"cmp"
	"fmt"
	"strings"
)

// Describe lists values for a message, each with its type and shape.
func Describe(values ...*Value) string {
	var all []string
	for _, v := range values {
		shape := "of unknown shape"
		if v.Shape() != nil {
			var dims []string
			for _, d := range v.Shape() {
				size := cmp.Or(d.Name, "?")
				if d.Size > 0 {
					size = fmt.Sprint(d.Size)
				}
				dims = append(dims, size)
			}
			shape = "[" + strings.Join(dims, ", ") + "]"
		}
		all = append(all, fmt.Sprintf("%s %s %s", v.Name, v.Elem(), shape))
	}
	return strings.Join(all, "; ")
}
