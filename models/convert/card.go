package convert

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"example.org/conclave/models"
)

// writeCard states what an import knows. Training writes richer cards.
func writeCard(w io.Writer, m *models.Manifest) error {
	var b strings.Builder
	what := "texts become vectors"
	if m.Kind == models.KindLate {
		what = "each token of a text becomes a vector"
	}
	what = fmt.Sprintf(
		"An expert bundle for conclave: %s of %d numbers, compared by %s.",
		what,
		m.Dimension,
		strings.ReplaceAll(m.Similarity, "-", " "),
	)
	longest := fmt.Sprintf("%d, %d tokens", m.MaxTokens.Question, m.MaxTokens.Passage)
	switch m.Kind {
	case models.KindGenerator:
		what = "A generator for conclave: it writes an answer to a question from passages (Fusion-in-Decoder)."
	case models.KindReader:
		what = "A reader for conclave: it marks the words of a passage that answer a question."
		longest = fmt.Sprintf(
			"%d tokens of a question, %d of a title, %d of both and the text",
			m.MaxTokens.Question,
			m.MaxTokens.Title,
			m.MaxTokens.Pair,
		)
	}
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
	row("pooling", m.Pooling)
	if g := m.Generator; g != nil {
		row("longest question with a passage", fmt.Sprintf("%d tokens", g.PassageTokens))
		row("beams", fmt.Sprint(g.Beams))
		row("memory of an answer", fmt.Sprintf("%d bytes for each token of its passages", g.CrossBytes(1)))
	} else {
		if m.Kind != models.KindReader {
			row("unit length", map[bool]string{true: "yes", false: "no"}[m.Normalise])
		}
		row("longest question, passage", longest)
		row("passage template", m.Template)
		row("before a question", m.Prefix.Question)
		row("before a passage", m.Prefix.Passage)
		row("lower case", map[bool]string{true: "yes", false: "no"}[m.LowerCase])
	}
	if m.Ensemble != nil {
		row("ensemble", fmt.Sprintf("%d members", m.Ensemble.Members))
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
