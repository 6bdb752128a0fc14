package main

import (
	"fmt"

	"conclave/configs"
	shipped "conclave/experts"
	"conclave/models"
	"conclave/provision"
)

// examineMemory says what serving may take at most.
func examineMemory(config configs.Config, cache provision.Cache) finding {
	var sizes []configs.ExpertSize
	for _, name := range wantedExpertNames(config) {
		folder, err := shipped.Folder(config, cache, name)
		if err != nil {
			continue // told by the bundle's own line
		}
		if b, err := models.Peek(folder); err == nil {
			sizes = append(sizes, configs.ExpertSize{Width: max(b.Manifest.Dimension, b.Manifest.Passage.PooledDimension), MaxTokens: b.Manifest.MaxTokens.Passage})
		}
	}
	m := config.Memory(sizes)
	return finding{What: "memory", Status: "ok", Detail: fmt.Sprintf("at most %s beside the collection's mapped files and the models: answers %s (limits.concurrency × limits.answer_bytes, four times), bodies %s, writing %s, %d experts %s",
		count(m.Total(), "bytes"), count(m.Answers, "bytes"), count(m.Bodies, "bytes"), count(m.Writing, "bytes"), len(sizes), count(m.Encoders, "bytes"))}
}
