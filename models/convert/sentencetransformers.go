package convert

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"example.org/conclave/models"
)

// prompts are the texts that sentence-transformers puts before inputs, from config_sentence_transformers.json.
type prompts struct {
	Default *string           `json:"default_prompt_name"`
	Texts   map[string]string `json:"prompts"`
}

// The names under which sentence-transformers looks for the prompts of the two sides, the
// first that is there first (encode_query and encode_document).
var (
	questionPrompts = []string{"query"}
	passagePrompts  = []string{"document", "passage", "corpus"}
)

// choosePrompt returns the prompt with the first of the names that exists, else the default one, else "".
func (p *prompts) choosePrompt(names []string) string {
	for _, name := range names {
		if text, ok := p.Texts[name]; ok {
			return text
		}
	}
	return p.Texts[valueOr(p.Default, "")]
}

// checkSides returns an *UndecidedError if there are prompts that are not empty, and no prompt, empty or not, is for
// one of the sides or is the default: the user has to choose. A default that is no prompt is another error. path is the
// file's, for the error.
func (p *prompts) checkSides(path string) error {
	if p.Default != nil {
		if _, ok := p.Texts[*p.Default]; !ok {
			return fmt.Errorf(
				"%s: default_prompt_name is %q, and prompts has %q", path, *p.Default,
				slices.Sorted(maps.Keys(p.Texts)),
			)
		}
		return nil
	}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(p.Texts)) {
		if slices.Contains(questionPrompts, name) || slices.Contains(passagePrompts, name) {
			return nil
		}
		if p.Texts[name] != "" {
			others = append(others, fmt.Sprintf("%s (%q)", name, p.Texts[name]))
		}
	}
	if others == nil {
		return nil
	}
	return &UndecidedError{
		Setting: models.SettingPrefix,
		Reason: fmt.Sprintf(
			"%s has the prompts %s, and says of none that it is for questions (query) or for passages (document)", path,
			strings.Join(others, ", "),
		),
	}
}

// readSentenceTransformers sets pooling, normalisation, limits and prompts of c by the files of
// sentence-transformers in c.dir; files that are not there leave them open. It fails for modules that cannot be
// imported (*KindError: sparse ones).
func (c *checkpoint) readSentenceTransformers() error {
	var modules []struct {
		Type string `json:"type"`
		Path string `json:"path"`
	}
	path := filepath.Join(c.dir, "modules.json")
	switch err := readJSON(path, &modules); {
	case errors.Is(err, fs.ErrNotExist):
		if err := c.readPooling(filepath.Join("1_Pooling", "config.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return c.readPrompts()
	case err != nil:
		return err
	}
	c.modules = true
	c.normalise = new(bool)
	for _, module := range modules {
		switch kind := module.Type[strings.LastIndexByte(module.Type, '.')+1:]; kind {
		case "Transformer":
			if path := filepath.Join(c.dir, "config.json"); module.Path != "" && !exists(path) {
				return fmt.Errorf(
					"%s says that the encoder lies in %q: put the files of that folder beside modules.json",
					filepath.Join(c.dir, "modules.json"), module.Path,
				)
			}
		case "Pooling":
			if !filepath.IsLocal(module.Path) {
				return fmt.Errorf("%s: path %q lies outside the checkpoint", path, module.Path)
			}
			// Where the file is missing, the pooling is not known.
			if err := c.readPooling(filepath.Join(module.Path, "config.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		case "Normalize":
			*c.normalise = true
		case "MLMTransformer":
			c.masked = true
		case "SpladePooling":
			c.masked = true
			if err := c.checkSplade(filepath.Join(module.Path, "config.json")); err != nil {
				return err
			}
		case "SparseAutoEncoder", "SparseStaticEmbedding", "IDF", "Router", "Asym":
			return &KindError{What: "a sparse encoder (SPLADE), as modules.json says", Possible: sparsePossible}
		default:
			return fmt.Errorf("%s: the module %q is not supported; Transformer, Pooling and Normalize are", path, module.Type)
		}
	}
	var limits struct {
		Max *int `json:"max_seq_length"`
	}
	if err := readJSON(filepath.Join(c.dir, "sentence_bert_config.json"), &limits); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.maxTokens = valueOr(limits.Max, 0)
	return c.readPrompts()
}

// readPrompts sets c's prompts, and by the way in which vectors are compared whether they have unit length: cosine
// means that they have, and the inner product that they do not, unless a module says so. A file that is not there
// changes nothing. It fails for other comparisons.
func (c *checkpoint) readPrompts() error {
	var config struct {
		prompts
		Similarity *string `json:"similarity_fn_name"`
	}
	path := filepath.Join(c.dir, "config_sentence_transformers.json")
	if err := readJSON(path, &config); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c.prompts = config.prompts
	switch similarity := valueOr(config.Similarity, ""); similarity {
	case "cosine":
		c.normalise = new(true)
	case "dot", "dot_product":
		if c.normalise == nil {
			c.normalise = new(false)
		}
	case "":
	default:
		return fmt.Errorf(
			"%s: vectors are compared by %q (similarity_fn_name); cosine and dot are possible", path, similarity,
		)
	}
	return nil
}

// choosePrefixes returns the texts that go before questions and passages: for each side the prefix in o, else the
// checkpoint's prompt, else "". If o has neither, it returns an *UndecidedError for prompts of which none is for one of
// the sides, and another error for a default prompt that does not exist.
func (c *checkpoint) choosePrefixes(o Options) (models.Prefix, error) {
	if o.QuestionPrefix == nil && o.PassagePrefix == nil {
		if err := c.prompts.checkSides(filepath.Join(c.dir, "config_sentence_transformers.json")); err != nil {
			return models.Prefix{}, err
		}
	}
	return models.Prefix{
		Question: valueOr(o.QuestionPrefix, c.prompts.choosePrompt(questionPrompts)),
		Passage:  valueOr(o.PassagePrefix, c.prompts.choosePrompt(passagePrompts)),
	}, nil
}

// readPooling sets c's pooling by the settings of a Pooling module of sentence-transformers; name is the path of
// the file in c.dir. It fails with fs.ErrNotExist if there is none, and for a pooling that cannot be imported.
func (c *checkpoint) readPooling(name string) error {
	path := filepath.Join(c.dir, name)
	var modes map[string]any
	if err := readJSON(path, &modes); err != nil {
		return err
	}
	if modes["include_prompt"] == false {
		return fmt.Errorf(
			"%s: include_prompt is false: the tokens of a prompt have no part in the vectors, which bundles cannot say",
			path,
		)
	}
	var on []string
	for key, v := range modes {
		if mode, ok := strings.CutPrefix(key, "pooling_mode_"); ok && v == true {
			on = append(on, mode)
		}
	}
	if mode, ok := modes["pooling_mode"].(string); ok { // newer releases
		on = []string{mode}
	}
	if len(on) == 1 {
		switch on[0] {
		case "cls_token", "cls":
			c.pooling = models.PoolingCLS
			return nil
		case "mean_tokens", "mean":
			c.pooling = models.PoolingMean
			return nil
		}
	}
	slices.Sort(on)
	return fmt.Errorf("%s: pooling %q is not supported; cls and mean, one of them, are", path, on)
}
