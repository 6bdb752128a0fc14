package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"conclave/models/bert"
)

// encoders are the two encoders that an import is from. They are one and the
// same where one serves both sides.
type encoders struct{ question, passage *tower }

func openEncoders(ctx context.Context, dir, passageDir string) (*encoders, error) {
	if _, err := os.Stat(filepath.Join(dir, "config.json")); errors.Is(err, os.ErrNotExist) && passageDir == "" {
		q, p := filepath.Join(dir, strings.TrimSuffix(questionPrefix, ".")), filepath.Join(dir, strings.TrimSuffix(passagePrefix, "."))
		if isDir(q) && isDir(p) {
			dir, passageDir = q, p
		}
	}
	first, err := openCheckpoint(ctx, dir)
	if err != nil {
		return nil, err
	}
	e := &encoders{question: first[Question], passage: first[Passage]}
	if passageDir != "" {
		second, err := openCheckpoint(ctx, passageDir)
		if err != nil {
			e.close()
			return nil, err
		}
		if second[Passage] == nil {
			second[Question].close()
			e.close()
			return nil, fmt.Errorf("%s holds no passage encoder (%s…)", passageDir, passagePrefix)
		}
		if e.question == nil {
			second[Passage].close()
		} else {
			e.passage = second[Passage]
		}
	}
	switch {
	case e.question == nil:
		e.close()
		return nil, fmt.Errorf("%s holds no question encoder (%s…): give the question encoder's checkpoint first and this one as the passage encoder's", dir, questionPrefix)
	case e.passage == nil:
		e.close()
		return nil, fmt.Errorf("%s holds a question encoder and no passage encoder (%s…): name the passage encoder's checkpoint too", dir, passagePrefix)
	}
	return e, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (e *encoders) close() {
	for _, t := range []*tower{e.question, e.passage} {
		if t != nil {
			t.close()
		}
	}
}

// distinct lists the encoders that have a graph of their own.
func (e *encoders) distinct() []*tower {
	if e.question == e.passage {
		return []*tower{e.question}
	}
	return []*tower{e.question, e.passage}
}

// check holds the tensors of both encoders against their configurations.
func (e *encoders) check(head bert.Head) error {
	var all []error
	for _, t := range e.distinct() {
		all = append(all, t.check(head.Pooling == PoolingPooler))
	}
	return errors.Join(all...)
}

// manifest says how the encoders are to be used.
func (e *encoders) manifest(srcDir, outDir string, o ImportOptions) (Manifest, error) {
	q, p := e.question, e.passage
	if a, b := q.config.Output(), p.config.Output(); a != b {
		return Manifest{}, fmt.Errorf("the question encoder gives vectors of %d numbers and the passage encoder of %d", a, b)
	}
	if err := q.tokenizer.same(p.tokenizer); err != nil {
		return Manifest{}, err
	}
	if o.Pooling == PoolingTokens {
		return Manifest{}, fmt.Errorf("the pooling %q is for late experts, which are imported from a delta", o.Pooling)
	}
	hash, err := hashWeights(e.distinct())
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{
		Format: Format, Name: or(o.Name, nameOf(outDir)), Kind: KindDense, Dimension: q.config.Output(),
		Pooling:   or(o.Pooling, q.pooling, PoolingCLS),
		Normalise: value(o.Normalise, q.normalise),
		LowerCase: q.tokenizer.lowerCase,
		Template:  or(o.Template, TemplateTitleDotText), Similarity: SimilarityInnerProduct, Precision: PrecisionFP32,
		Tokenizer: q.tokenizer.name,
		Question:  DefaultGraph(bothFile), Passage: DefaultGraph(bothFile),
		Lineage: Lineage{
			Source: or(o.Source, filepath.Base(filepath.Clean(srcDir))), SourceSHA256: hash,
			Architecture: q.config.String(), Licence: or(o.Licence, q.licence), Producer: Producer,
		},
	}
	if o.Int8 {
		m.Precision = PrecisionInt8
	}
	defaults := MaxTokens{Question: 64, Passage: 256}
	if q.isDPR() {
		m.Template = or(o.Template, TemplatePair)
		defaults.Question = 256
	}
	if q != p {
		m.Question, m.Passage = DefaultGraph(questionFile), DefaultGraph(passageFile)
	}
	if m.MaxTokens.Question, err = q.limit("question", o.MaxTokens.Question, defaults.Question); err != nil {
		return Manifest{}, err
	}
	m.MaxTokens.Passage, err = p.limit("passage", o.MaxTokens.Passage, defaults.Passage)
	return m, err
}

// limit is the longest input of one side: as asked, or the default as far as
// the checkpoint allows.
func (c *checkpoint) limit(side string, asked, otherwise int) (int, error) {
	positions := c.config.Positions
	if positions <= 0 { // an exported model that does not say
		positions = 512
	}
	if asked > positions {
		return 0, fmt.Errorf("%s of %d tokens asked for; the model has %d positions", side, asked, positions)
	}
	if asked > 0 {
		return asked, nil
	}
	limit := min(otherwise, positions)
	if c.maxTokens > 0 {
		limit = min(limit, c.maxTokens)
	}
	return limit, nil
}

// hashWeights is the SHA-256 of the weights' files, each once.
func hashWeights(all []*tower) (string, error) {
	hash := sha256.New()
	seen := map[string]bool{}
	for _, t := range all {
		if seen[t.set.Path] {
			continue
		}
		seen[t.set.Path] = true
		sum, err := hashFile(t.set.Path)
		if err != nil {
			return "", err
		}
		if len(all) == 1 {
			return sum, nil // as `sha256sum` prints it
		}
		_, _ = fmt.Fprintln(hash, sum)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// nameOf makes an expert's name of a folder's.
func nameOf(dir string) string {
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(filepath.Base(dir)))
	return strings.Trim(name[:min(len(name), 64)], "._-")
}

func or(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
