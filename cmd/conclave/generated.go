package main

import (
	"context"

	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/questions"
)

// sampledTexts is how many passages questions are generated from: three of each at most.
const sampledTexts = 200

// generate makes questions of exact things from passages of the collection.
func generate(ctx context.Context, l *assembly.Assembly) (questions.Domain, error) {
	sample, err := l.Engine.Sample(ctx, sampledTexts)
	if err != nil {
		return questions.Domain{}, err
	}
	texts := make([]questions.Text, len(sample))
	for i, p := range sample {
		texts[i] = questions.Text{ID: p.ID, Title: p.Title, Text: p.Text}
	}
	return questions.Generate(texts), nil
}
