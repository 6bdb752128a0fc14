package run

// Stages of a search, as an Observer hears of them.
const (
	StageEncode     = "encode"
	StageHead       = "head"
	StageSearch     = "search"
	StageConfidence = "confidence"
	StageSources    = "sources"
	StageComplete   = "complete"
	StageFuse       = "fuse"
	StageRerank     = "rerank"
	StageRead       = "read"
	StageFetch      = "fetch"
	StageGenerate   = "generate"
)
