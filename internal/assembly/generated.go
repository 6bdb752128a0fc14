package assembly

import (
	"context"

	"example.org/conclave/internal/questions"
	"example.org/conclave/search"
)

// sampledTexts is how many passages questions are generated from: three of each at most.
const sampledTexts = 200

// GenerateQuestions returns judged questions made from a sample of at most sampledTexts of the collection's
// passages: about exact words such as names and numbers, and for each one about words that no passage has. The same
// passages give the same questions. It fails if the passages cannot be read.
func (a *Assembly) GenerateQuestions(ctx context.Context) (questions.Domain, error) {
	sample, err := a.Engine.Sample(ctx, search.Caller{}, sampledTexts)
	if err != nil {
		return questions.Domain{}, err
	}
	texts := make([]questions.Text, len(sample))
	for i, p := range sample {
		texts[i] = questions.Text{ID: p.ID, Title: p.Title, Text: p.Text}
	}
	return questions.Generate(texts), nil
}
