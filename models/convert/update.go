package convert

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/conclave/models/convert/safetensors"
)

// deltaFormat is the format of delta.safetensors that this package reads. training/README.md describes it.
const deltaFormat = "conclave-delta-1"

// The towers of a delta: one for both sides, or one for each.
const (
	sharedTower   = "shared"
	questionTower = "question"
	passageTower  = "passage"
)

// change is the change of one tensor by a delta: W + up·down (Hu et al. 2021, "LoRA", equation 3, with the factor α/r
// inside up), or v + diff; or the whole of a tensor that the base does not have.
type change struct {
	shape    []int // of the tensor
	up, down []float32
	rank     int
	diff     []float32
	fresh    []float32
}

// update is the content of a delta.safetensors: the changes by tower, and by the tensor's name in a plain BertModel.
type update map[string]map[string]change

// readUpdate parses the content of a delta.safetensors for the base whose weights have the SHA-256 base. It fails
// for another base, and for everything that can be seen to be wrong without the base.
func readUpdate(data []byte, base string) (update, error) {
	file, err := safetensors.New(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if format := file.Metadata["format"]; format != deltaFormat {
		return nil, fmt.Errorf("its format is %q; this version of conclave reads %q", format, deltaFormat)
	}
	if sum := file.Metadata["base_sha256"]; sum != base {
		return nil, fmt.Errorf("it changes a base with SHA-256 %q, and the manifest names %s", sum, base)
	}
	u := update{}
	for _, full := range slices.Sorted(slices.Values(file.Names())) {
		if err := u.take(file, full); err != nil {
			return nil, err
		}
	}
	return u, u.checkParts()
}

// take reads the change that the tensor full of file describes (TOWER.NAME.SUFFIX) into u. With an "up" its "down"
// is read too, so that a "down" alone is only checked to have its "up". It fails if the name, the type or the
// shapes are wrong, or the tensor is changed already.
func (u update) take(file *safetensors.File, full string) error {
	tower, rest, _ := strings.Cut(full, ".")
	at := strings.LastIndexByte(rest, '.')
	if at <= 0 || tower != sharedTower && tower != questionTower && tower != passageTower {
		return fmt.Errorf(
			"tensor %q: names are TOWER.NAME.SUFFIX, with %s, %s or %s first", full, sharedTower, questionTower,
			passageTower,
		)
	}
	name, suffix := rest[:at], rest[at+1:]
	c := u[tower][name]
	if c.shape != nil && suffix != "down" {
		return fmt.Errorf(
			"tensor %q: %s.%s is changed twice: of factors, a difference and a new tensor there can be one", full,
			tower, name,
		)
	}
	var err error
	switch stem := strings.TrimSuffix(full, suffix); suffix {
	case "diff":
		c.diff, c.shape, err = halves(file, full)
		if err != nil {
			return err
		}
	case "new":
		c.fresh, c.shape, err = halves(file, full)
		if err != nil {
			return err
		}
	case "up":
		var up, down []int
		c.up, up, err = halves(file, full)
		if err != nil {
			return err
		}
		if _, ok := file.Info(stem + "down"); !ok {
			return fmt.Errorf("there is a tensor %q and no %q", full, stem+"down")
		}
		c.down, down, err = halves(file, stem+"down")
		if err != nil {
			return err
		}
		if len(up) != 2 || len(down) != 2 || up[1] != down[0] {
			return fmt.Errorf("tensors %q %v and %q %v: [out, r] and [r, in] are needed", full, up, stem+"down", down)
		}
		c.shape = []int{up[0], down[1]}
		c.rank = up[1]
	case "down": // read with its up
		if _, ok := file.Info(stem + "up"); !ok {
			return fmt.Errorf("there is a tensor %q and no %q", full, stem+"up")
		}
		return nil
	default:
		return fmt.Errorf("tensor %q: the suffix %q is not known; up, down, diff and new are", full, suffix)
	}
	if u[tower] == nil {
		u[tower] = map[string]change{}
	}
	u[tower][name] = c
	return nil
}

// halves returns the values, as float32, and the shape of the tensor name of file. It fails if there is none, its
// type is not F16, or a value is not finite.
func halves(file *safetensors.File, name string) ([]float32, []int, error) {
	info, _ := file.Info(name)
	if info.Type != "F16" {
		return nil, nil, fmt.Errorf("tensor %q has type %s; a delta's are F16", name, info.Type)
	}
	values, err := file.Floats(name, info.Shape...)
	return values, info.Shape, err
}

// checkParts returns an error if the update changes nothing, or names both a shared encoder and one side.
func (u update) checkParts() error {
	switch {
	case len(u) == 0:
		return errors.New("it changes nothing")
	case u[sharedTower] != nil && len(u) > 1:
		return fmt.Errorf(
			"it has tensors for %s and for one side: either both sides share an encoder or they do not", sharedTower,
		)
	}
	return nil
}

// apply adds the change to the values of the base's tensor, in place; their number has to be that of c.shape. It is
// not for a tensor that is new. All arithmetic is in float32, each step rounded by itself, so that every machine
// computes the same.
func (c change) apply(values []float32) {
	if c.diff != nil {
		for i, v := range c.diff {
			values[i] += v
		}
		return
	}
	out, in := c.shape[0], c.shape[1]
	sum := make([]float32, in)
	for o := range out {
		clear(sum)
		for r := range c.rank {
			factor := c.up[o*c.rank+r]
			for i, v := range c.down[r*in : (r+1)*in] {
				sum[i] += float32(factor * v)
			}
		}
		row := values[o*in : (o+1)*in]
		for i, v := range sum {
			row[i] += v
		}
	}
}
