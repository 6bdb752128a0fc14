package convert

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"example.org/conclave/models"
)

// writeCard writes the card of a bundle to w as Markdown, as far as its manifest tells: a table with a row for each
// setting that is not empty. It fails if w does. Training writes richer cards.
func writeCard(w io.Writer, m *models.Manifest) error {
	var b strings.Builder
	what := whatItIs(m)
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", m.Name, what)
	row := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", key, strings.NewReplacer("|", "\\|", "\n", " ").Replace(value))
		}
	}
	b.WriteString("| | |\n| --- | --- |\n")
	row("weights from", m.Lineage.Source)
	row("SHA-256 of the weights as found", m.Lineage.SourceSHA256)
	row("architecture", m.Lineage.Architecture)
	row("precision", m.Precision)
	yes := map[bool]string{true: "yes", false: "no"}
	switch m.Kind {
	case models.KindGenerator:
		g := m.Generator
		row("longest question with a passage", fmt.Sprintf("%d tokens", g.PassageTokens))
		row("beams", fmt.Sprint(g.Beams))
		row("memory of an answer", fmt.Sprintf("%d bytes for each token of its passages", g.CrossBytes(1)))
	case models.KindReader:
		r := m.Reader
		row("longest question, passage", fmt.Sprintf(
			"%d tokens of a question, %d of a title, %d of both and the text", r.MaxTokens.Question, r.MaxTokens.Title,
			r.MaxTokens.Pair,
		))
		row("passage template", r.Template)
		row("lower case", yes[m.LowerCase])
	case models.KindReranker:
		r := m.Reranker
		row("longest question and passage", fmt.Sprintf("%d tokens together", r.Tokens))
		row("passage template", r.Template)
		row("lower case", yes[m.LowerCase])
	case models.KindDesireMe:
		row("domains", strings.Join(m.Head.Domains, ", "))
	default:
		v := m.Vectors
		row("pooling", v.Pooling)
		row("unit length", yes[v.Normalise])
		row("longest question, passage", fmt.Sprintf("%d, %d tokens", v.MaxTokens.Question, v.MaxTokens.Passage))
		row("passage template", v.Template)
		row("before a question", v.Prefix.Question)
		row("before a passage", v.Prefix.Passage)
		row("lower case", yes[m.LowerCase])
		if v.Ensemble != nil {
			row("ensemble", fmt.Sprintf("%d members", v.Ensemble.Members))
		}
	}
	licence := m.Lineage.Licence
	if licence == "" {
		licence = "not stated by the checkpoint"
	}
	row("licence", licence)
	row("made by", m.Lineage.Producer)
	for _, key := range slices.Sorted(maps.Keys(m.Lineage.Notes)) {
		row(key, m.Lineage.Notes[key])
	}
	b.WriteString("\nTraining data and measured accuracy: not recorded at import; see where the weights are from.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// whatItIs returns the sentence of a card on what a bundle is for, by its kind.
func whatItIs(m *models.Manifest) string {
	what := "texts become vectors"
	switch m.Kind {
	case models.KindGenerator:
		return "A generator for conclave: it writes an answer to a question from passages (Fusion-in-Decoder)."
	case models.KindReader:
		return "A reader for conclave: it marks the words of a passage that answer a question."
	case models.KindReranker:
		return "A reranker for conclave: it scores how well a passage answers a question (a cross-encoder)."
	case models.KindDesireMe:
		return "A head for conclave: it changes the vectors that its base gives to questions (DESIRE-ME)."
	case models.KindSparse:
		return "A sparse expert for conclave: texts get a weight for each word piece (SPLADE)."
	case models.KindLate:
		what = "each token of a text becomes a vector"
	}
	return fmt.Sprintf(
		"An expert bundle for conclave: %s of %d numbers, compared by %s.", what, m.Dimension(),
		strings.ReplaceAll(m.Vectors.Similarity, "-", " "),
	)
}
