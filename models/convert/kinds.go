package convert

import (
	"fmt"
	"slices"
	"strings"
)

// heads has the kinds of models by what they have behind their encoder: by the end of their class's name (architectures
// in config.json) and by the tensors of the head. A BertModel has none.
var heads = []struct {
	class, tensors string
	kind           KindError
}{
	{
		"ForMaskedLM",
		"cls.predictions.",
		KindError{"a masked language model (BertForMaskedLM)",
			"Those of BERT and DistilBERT are imported, as sparse encoders (SPLADE). A dense encoder that was trained from such a model is a BertModel: save it as one (AutoModel in transformers does)"},
	},
	{
		"ForPreTraining",
		"cls.predictions.",
		KindError{"a model for pre-training (BertForPreTraining), which was not trained to compare texts",
			"Import a dense encoder that was trained from it, saved as a BertModel"},
	},
	{
		"ForSequenceClassification",
		"classifier.",
		KindError{
			"a classifier (BertForSequenceClassification) of several labels, which makes no vectors",
			"One with a single label is a cross-encoder and is imported as a reranker; else import a dense encoder, or a reader (BertForQuestionAnswering, DPRReader)",
		},
	},
	{
		"ForTokenClassification",
		"classifier.",
		KindError{
			"a model that labels words (BertForTokenClassification), which makes no vectors of texts",
			"Import a dense encoder, saved as a BertModel",
		},
	},
	{
		"ForMultipleChoice",
		"classifier.",
		KindError{
			"a model for multiple choice, which makes no vectors of texts",
			"Import a dense encoder, saved as a BertModel",
		},
	},
	{
		"ForNextSentencePrediction",
		"cls.seq_relationship.",
		KindError{
			"a model for next sentence prediction, which makes no vectors of texts",
			"Import a dense encoder, saved as a BertModel",
		},
	},
	{
		"LMHeadModel",
		"cls.predictions.",
		KindError{"a language model, which was not trained to compare texts", "Import a dense encoder, saved as a BertModel"},
	},
	{
		"ColBERT",
		"linear.weight",
		KindError{
			"a model of late interaction (ColBERT)",
			"Late interaction is imported as a delta to its base, which training makes",
		},
	},
}

// forClass returns a copy of e in which class replaces the name of the BERT class that What has in brackets, such as
// "(BertForMaskedLM)". The copy is unchanged if class is "" or What has no such name.
func (e KindError) forClass(class string) *KindError {
	if at := strings.Index(e.What, "(Bert"); at >= 0 && class != "" {
		if end := strings.IndexByte(e.What[at:], ')'); end >= 0 {
			e.What = e.What[:at+1] + class + e.What[at+end:]
		}
	}
	return &e
}

// checkKind returns a *KindError if the model is no dense encoder, by its classes in config.json or, without any,
// by the names of its tensors; else nil. With modules.json it is taken for one without a look.
func (c *checkpoint) checkKind(tensors []string) error {
	if c.modules {
		return nil
	}
	for _, h := range heads {
		for _, class := range c.architectures {
			if strings.HasSuffix(class, h.class) {
				return h.kind.forClass(class)
			}
		}
	}
	for _, class := range c.architectures {
		if strings.Contains(class, "For") {
			return &KindError{
				"a " + class,
				"Dense encoders are imported (BertModel, DPR and others), rerankers (BertForSequenceClassification with one label), readers (BertForQuestionAnswering, DPRReader) and T5",
			}
		}
	}
	if len(c.architectures) > 0 {
		return nil
	}
	for _, h := range heads {
		if slices.ContainsFunc(tensors, func(name string) bool { return strings.HasPrefix(name, h.tensors) }) {
			return h.kind.forClass("")
		}
	}
	return nil
}

// prefixProblem returns an error that explains why the tensors of a BertModel were not found: they have an unknown
// prefix, or there are none; nil if they were found.
func (t *tower) prefixProblem() error {
	const first = "embeddings.word_embeddings.weight" // in all families
	if _, ok := t.set.Info(t.name(first)); ok {
		return nil
	}
	known := fmt.Sprintf(
		"those of a %sModel are expected (%s), alone or with %q, %q or %q in front", t.family.class, first,
		t.family.prefix, questionPrefix+dprBody, passagePrefix+dprBody,
	)
	var prefixes []string
	for _, name := range t.set.Names() {
		if prefix, ok := strings.CutSuffix(name, first); ok {
			prefixes = append(prefixes, prefix)
		}
	}
	if len(prefixes) > 0 {
		slices.Sort(prefixes)
		return fmt.Errorf(
			"%s: the names of the tensors begin with %q; %s. Save the encoder itself, as a BertModel, which drops the prefix",
			t.dir, prefixes, known,
		)
	}
	names := slices.Sorted(slices.Values(t.set.Names()))
	some := names[:min(3, len(names))]
	return fmt.Errorf(
		"%s: it has %d tensors, such as %q, and none is called %s; %s", t.dir, len(names), some, first, known,
	)
}
