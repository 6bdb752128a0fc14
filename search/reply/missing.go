package reply

// Missing names a source or model that has no part in an answer, or only in a part of it, and the reason, for users.
type Missing struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}
