package convert

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"example.org/conclave/models"
	"example.org/conclave/models/convert/bert"
)

// Merge makes the bundle outDir: the graphs that Import would write for a checkpoint with the merged weights, the
// base's tokenizer, and the delta's ensemble, representatives, card and calibration. The calibration is then the
// merged encoder's. Pooling, length limits and template are the delta's; an option that sets one of these is an
// error. Of the options, Base, PassageDir, Name, Int8 and Check are used, and Base is required.
//
// It fails if the base is not the one in the manifest, and for a change to a tensor that the base lacks or has in
// another shape. A late expert brings the tensors of its head (bert.LateNames), and so does a reader. The graph of
// a DESIRE-ME expert is copied as it is. As with Import, an interruption leaves nothing behind, and the same input
// gives the same bytes.
func (d *Delta) Merge(ctx context.Context, outDir string, o Options) (*models.Bundle, error) {
	for option, given := range map[string]bool{
		"pooling": o.Pooling != "", "unit length": o.Normalise != nil, "template": o.Template != "",
		"longest question and passage": o.MaxTokens != models.MaxTokens{}, "output": o.Output != "",
		"prefix": o.QuestionPrefix != nil || o.PassagePrefix != nil, "source": o.Source != "", "licence": o.Licence != "",
		"languages": o.Languages != nil,
	} {
		if given {
			return nil, fmt.Errorf("the %s of a delta cannot be chosen: the manifest says it", option)
		}
	}
	if o.Base == "" {
		return nil, fmt.Errorf(
			"a delta needs its base: name the folder of the checkpoint of %q, whose weights have the SHA-256 %s",
			d.Manifest.Base.Name, d.Manifest.Base.WeightsSHA256,
		)
	}
	if d.Manifest.Kind == models.KindDesireMe {
		return d.mergeHead(ctx, outDir, o)
	}
	base, err := openEncoders(ctx, o.Base, o.PassageDir)
	if err != nil {
		return nil, fmt.Errorf("the base: %w", err)
	}
	defer base.close()
	graphs, err := d.encoderGraphs(base)
	if err != nil {
		return nil, err
	}
	m, err := d.mergedManifest(base, o)
	if err != nil {
		return nil, err
	}
	head := headOf(&m, base.question)
	if err := base.checkTensors(head); err != nil {
		return nil, fmt.Errorf("the base: %w", err)
	}
	files := base.question.tokenizer.file()
	for _, name := range d.carriedFiles() {
		files = append(files, bundleFile{name, func(w io.Writer) error { return d.copyFile(w, name) }})
	}
	return writeBundle(outDir, m, d.Calibration, o.Check, append(files, graphFiles(graphs, head, o.Int8)...))
}

// mergeHead makes the bundle outDir of a DESIRE-ME expert, whose files are copied as they are. It fails if the base
// is not the one in the manifest.
func (d *Delta) mergeHead(ctx context.Context, outDir string, o Options) (*models.Bundle, error) {
	base, err := openEncoders(ctx, o.Base, o.PassageDir)
	if err != nil {
		return nil, fmt.Errorf("the base: %w", err)
	}
	defer base.close()
	if err := d.suitsBase(base); err != nil {
		return nil, err
	}
	m := d.Manifest
	if n := base.question.config.Output(); m.Dimension() != n {
		return nil, fmt.Errorf("the manifest says that vectors have %d numbers; the base's have %d", m.Dimension(), n)
	}
	var files []bundleFile
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		files = append(files, bundleFile{name, func(w io.Writer) error { return d.copyFile(w, name) }})
	}
	m.Lineage = d.mergedLineage()
	m.Delta = ""
	m.Name = cmp.Or(o.Name, m.Name)
	return writeBundle(outDir, m, nil, o.Check, files)
}

// suitsBase returns an error if the weights of base do not have the SHA-256 that the delta's manifest names, or
// cannot be read.
func (d *Delta) suitsBase(base *encoders) error {
	sum, err := hashWeights(base.distinctTowers())
	if want := d.Manifest.Base.WeightsSHA256; err == nil && sum != want {
		err = fmt.Errorf(
			"the delta changes a base whose weights have the SHA-256 %s (%s); those in %s have %s", want,
			d.Manifest.Base.Name, base.question.dir, sum,
		)
	}
	return err
}

// encoderGraphs returns the graphs to write, each with its changes: one for both sides if the delta is Tied, else
// the question's and the passage's. It fails if base is not the delta's or has two encoders for a Tied delta, or if
// a change does not fit it.
func (d *Delta) encoderGraphs(base *encoders) ([]encoderGraph, error) {
	if err := d.suitsBase(base); err != nil {
		return nil, err
	}
	all := []encoderGraph{
		{name: questionTower, file: questionFile, tower: base.question},
		{name: passageTower, file: passageFile, tower: base.passage},
	}
	if d.Tied() {
		if base.question != base.passage {
			return nil, fmt.Errorf("the delta changes one encoder for both sides, and the base in %s has two", base.question.dir)
		}
		all = []encoderGraph{{name: sharedTower, file: bothFile, tower: base.question}}
		if d.Manifest.Kind == models.KindReader {
			all[0].file = readerFile
		}
	}
	for i := range all {
		all[i].changes = d.changes[all[i].name]
		if err := all[i].checkFit(d.Manifest.Dimension()); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Manifest.Delta, err)
		}
	}
	return all, nil
}

// mergedManifest returns the manifest of the merged bundle, without the files' new sums. It fails if the manifest's
// dimension, lengths or pooling are impossible with this base, or one of the delta's files has the name of one that
// is to be made.
func (d *Delta) mergedManifest(base *encoders, o Options) (models.Manifest, error) {
	m := d.Manifest.Clone()
	c := base.question.config
	if m.Kind == models.KindDense && m.Dimension() != c.Output() {
		return m, fmt.Errorf("the manifest says that vectors have %d numbers; the base's have %d", m.Dimension(), c.Output())
	}
	longest := 0
	if r := m.Reader; r != nil {
		longest = max(r.MaxTokens.Question, r.MaxTokens.Pair)
	} else {
		longest = max(m.Vectors.MaxTokens.Question, m.Vectors.MaxTokens.Passage)
	}
	if longest > c.Positions {
		return m, fmt.Errorf("the manifest allows texts of %d tokens; the base has %d positions", longest, c.Positions)
	}
	if v := m.Vectors; v != nil && v.Pooling == models.PoolingGraph {
		return m, fmt.Errorf(
			"the manifest's pooling is %q; a delta's is %s, %s or %s", v.Pooling, models.PoolingCLS, models.PoolingMean,
			models.PoolingPooler,
		)
	}
	m.Delta = ""
	m.Name = cmp.Or(o.Name, m.Name)
	if o.Int8 {
		m.Precision = models.PrecisionInt8
	}
	m.Tokenizer = base.question.tokenizer.name
	made := []string{m.Tokenizer}
	switch {
	case m.Kind == models.KindReader:
		m.Reader.Graph = DefaultReader(true)
		made = append(made, m.Reader.Graph.File)
	case d.Tied():
		m.Vectors.Question = graphOf(&m, bothFile, base.question)
		m.Vectors.Passage = m.Vectors.Question
		made = append(made, bothFile)
	default:
		m.Vectors.Question = graphOf(&m, questionFile, base.question)
		m.Vectors.Passage = graphOf(&m, passageFile, base.question)
		made = append(made, questionFile, passageFile)
	}
	for _, name := range d.carriedFiles() {
		if slices.Contains(made, name) {
			return m, fmt.Errorf("the delta has a file %s, which is the name of one that is to be made", name)
		}
	}
	m.Lineage = d.mergedLineage()
	return m, nil
}

// mergedLineage returns the delta's lineage with this package as the producer and the delta's SHA-256 as what was
// merged; who trained the delta is kept as a note.
func (d *Delta) mergedLineage() models.Lineage {
	l := d.Manifest.Lineage
	notes := map[string]string{}
	maps.Copy(notes, l.Notes)
	if l.Producer != "" {
		notes["trained by"] = l.Producer
	}
	l.Notes = notes
	l.Producer = Producer
	l.MergedFrom = d.SHA256
	return l
}

// The files of the graphs that an import writes.
const (
	bothFile     = "encoder.onnx"
	questionFile = "question.onnx"
	passageFile  = "passage.onnx"
)

// encoderGraph is an encoder to be written: that of a checkpoint, with the changes of a delta.
type encoderGraph struct {
	// name of the tower in the delta
	name    string
	file    string
	tower   *tower
	changes map[string]change
}

// Tensor returns the base's tensor name with the delta's change applied. If the delta brings the tensor itself, it
// returns the delta's, which the caller must not change. It fails if the base has no such tensor or another shape
// (tensors.Weights).
func (g encoderGraph) Tensor(name string, shape ...int) ([]float32, error) {
	if c := g.changes[name]; c.fresh != nil { // checkFit has compared its shape
		return c.fresh, nil
	}
	values, err := g.tower.Tensor(name, shape...)
	if err != nil {
		return nil, err
	}
	if c, ok := g.changes[name]; ok {
		c.apply(values)
	}
	return values, nil
}

// checkFit returns an error for the first change, by name, that does not fit: of a tensor that the base lacks or has in
// another shape, of an embedding table, or a new tensor whose shape is not the one for the base's width and vectors of
// length dimension.
func (g encoderGraph) checkFit(dimension int) error {
	shapes, fresh := map[string][]int{}, map[string][]int{}
	width := g.tower.config.Dimension
	for _, named := range slices.Concat(bert.LateNames(dimension, width), bert.ReaderNames(width, true)) {
		fresh[named.Name] = named.Shape
	}
	for _, named := range g.tower.config.Names(true) {
		if _, ok := g.tower.set.Info(g.tower.name(named.Name)); ok {
			shapes[named.Name] = named.Shape
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.changes)) {
		full := g.name + "." + name
		shape := shapes[name]
		switch change := g.changes[name]; {
		case change.fresh != nil && slices.Equal(fresh[name], change.shape):
		case change.fresh != nil:
			return fmt.Errorf("the new tensor %q has shape %v; with this base %v is needed", full, change.shape, fresh[name])
		case shape == nil:
			return fmt.Errorf("%q is to change, and the base has no such tensor", full)
		case strings.HasPrefix(name, "embeddings.") && len(shape) == 2:
			return fmt.Errorf("%q is to change: the embedding tables of a delta are the base's", full)
		case !slices.Equal(shape, change.shape):
			return fmt.Errorf("the change of %q has shape %v; the base's tensor has %v", full, change.shape, shape)
		}
	}
	return nil
}

// graphFiles returns the bundle's files for these graphs. The content of a file is computed when it is written: in 8
// bits if int8 is set, else in float32.
func graphFiles(graphs []encoderGraph, head bert.Head, int8 bool) (files []bundleFile) {
	for _, g := range graphs {
		files = append(files, bundleFile{g.file, func(w io.Writer) error {
			if int8 {
				return bert.WriteInt8(w, g.tower.config, g, head, g.tower.tokenizer.cls, g.tower.tokenizer.sep)
			}
			return bert.Write(w, g.tower.config, g, head)
		}})
	}
	return files
}
