package client

import (
	"context"
	"net/http"
)

// Settings are the settings of a collection that an administrator changes while it is served.
type Settings struct {
	Synonyms  []Synonyms        `json:"synonyms"`
	Overrides []Override        `json:"overrides"` // the chosen results
	Fields    map[string]string `json:"fields"`    // types of metadata fields: "keyword", "number", "date" or "bool"
	// Misfits are stored values that do not have the declared type of their field. The server sets them;
	// [Client.PutSettings] does not send them.
	Misfits []Misfits `json:"misfits"`
}

// Synonyms has either Words, which stand for each other, or From and To: a question with a word of From is also
// searched for the words of To.
type Synonyms struct {
	Words []string `json:"words,omitempty"`
	From  []string `json:"from,omitempty"`
	To    []string `json:"to,omitempty"`
}

// Override has the chosen results of some questions.
type Override struct {
	// Questions are the questions that it applies to. Case, accents, punctuation and spaces make no difference.
	Questions []string `json:"questions,omitempty"`
	// Contains are words and phrases. It applies to every question that has one of them, too.
	Contains []string `json:"contains,omitempty"`
	// Pin are ids of passages and documents that stand first, in this order.
	Pin []string `json:"pin,omitempty"`
	// Hide are ids of passages and documents that are left out of the results.
	Hide []string `json:"hide,omitempty"`
}

// Misfits counts the passages whose value of a field does not have the field's declared type.
type Misfits struct {
	Field    string       `json:"field"`
	Type     string       `json:"type"` // that is declared
	Passages int          `json:"passages"`
	Values   []FacetValue `json:"values"` // the most frequent of these values
}

// Settings returns the settings of the collection. The error is a *Problem if the server refuses, as for a key without
// the scope admin.
func (c *Client) Settings(ctx context.Context) (out Settings, err error) {
	_, err = c.do(ctx, call{method: http.MethodGet, path: "/v1/admin/settings"}, &out)
	return out, err
}

// PutSettings replaces the settings of the collection by s and returns the new ones, with their Misfits. What s leaves
// empty is empty afterwards: to change one entry, change what [Client.Settings] returns. Searches use the new settings
// when it returns. The error is a *Problem if the server refuses, as for an entry that is not possible.
func (c *Client) PutSettings(ctx context.Context, s Settings) (out Settings, err error) {
	body := struct {
		Synonyms  []Synonyms        `json:"synonyms,omitempty"`
		Overrides []Override        `json:"overrides,omitempty"`
		Fields    map[string]string `json:"fields,omitempty"`
	}{s.Synonyms, s.Overrides, s.Fields}
	_, err = c.do(ctx, call{method: http.MethodPut, path: "/v1/admin/settings", body: body}, &out)
	return out, err
}
