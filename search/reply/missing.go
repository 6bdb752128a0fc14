package reply

// Missing names a source that was left out of the fusion, and why.
type Missing struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}
