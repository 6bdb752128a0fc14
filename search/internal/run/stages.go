package run

// The stages of a search, as Reporter.Stage gets them.
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
