package models

import (
	"fmt"
	"slices"

	"example.org/conclave/internal/disk"
	"example.org/conclave/models/convert/onnx"
)

// EnsembleMembers returns the number of members of the ensemble in a file of ONNX that no bundle describes. It fails if
// the file cannot be read or is no ensemble (Ensemble) for vectors of dimension numbers.
func EnsembleMembers(file string, dimension int) (int, error) {
	data, err := disk.ReadRegular(file, MaxGraphBytes)
	if err != nil {
		return 0, err
	}
	model, err := onnx.Read(data)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	isTensor := func(v *onnx.Value, name string, axes int) bool {
		return v.Name == name && v.Elem() == onnx.Float && len(v.Shape()) == axes
	}
	given := model.Given()
	at := slices.IndexFunc(model.Graph.Outputs, func(v *onnx.Value) bool { return isTensor(v, EnsembleOutput, 3) })
	if len(given) != 1 || !isTensor(given[0], EnsembleInput, 2) || at < 0 {
		return 0, fmt.Errorf(
			"%s is no ensemble: it has the inputs %s and the outputs %s, and needs %s [n, d] and %s [n, members, d], float32",
			file, onnx.Describe(given...), onnx.Describe(model.Graph.Outputs...), EnsembleInput, EnsembleOutput,
		)
	}
	takes := given[0].Shape()[1].Size
	gives := model.Graph.Outputs[at].Shape()
	if takes != int64(dimension) || gives[2].Size != int64(dimension) {
		return 0, fmt.Errorf("%s is an ensemble for vectors of %d numbers, and the expert's have %d: train one for this expert",
			file, takes, dimension)
	}
	if gives[1].Size < 1 || gives[1].Size > mostMembers {
		return 0, fmt.Errorf("%s has %d members: from 1 to %d are possible", file, gives[1].Size, mostMembers)
	}
	return int(gives[1].Size), nil
}

// mostMembers is the largest number of members of an ensemble.
const mostMembers = 1024
