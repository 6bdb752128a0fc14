package server

import (
	"fmt"
	"strings"

	"example.org/conclave/fusion"
)

// Auto returns the method behind "auto", and of what.
func (a *Assembly) Auto() string {
	d := a.Engine.Defaults()
	var of []string
	dense := a.Dense()
	switch {
	case len(dense) > 3:
		of = append(of, fmt.Sprintf("%d experts", len(dense)))
	default:
		for _, x := range dense {
			of = append(of, x.Name)
		}
	}
	of = append(of, "words")
	if d.Auto == fusion.MethodGate {
		if d.Gate.Phrases > 0 {
			of = append(of, "phrases")
		}
		if len(d.Gate.Late) > 0 && a.LineUp().Late != nil {
			of = append(of, "late interaction")
		}
	}
	return d.Auto + ": " + strings.Join(of, ", ")
}
