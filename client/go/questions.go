package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Unanswered is a question whose last verdict was not "found".
type Unanswered struct {
	Question string    `json:"question"` // as it was last asked
	Verdict  string    `json:"verdict"`  // of the last answer: "not_found" or "doubtful"
	Asked    int       `json:"asked"`    // how many times
	First    time.Time `json:"first"`    // when it was first asked
	Last     time.Time `json:"last"`
	// Filtered says that the last search was restricted to a part of the passages, by its filter or its key's.
	Filtered bool   `json:"filtered"`
	Nearest  string `json:"nearest,omitempty"` // id of the first passage of the last search; "": none was found
}

// UnansweredList has the unanswered questions of a collection.
type UnansweredList struct {
	Keep      int          `json:"keep"` // how many the server keeps at most; 0: none
	Questions []Unanswered `json:"questions"`
}

// Answered is a question whose last verdict was "found".
type Answered struct {
	Question string    `json:"question"` // as it was last asked
	Asked    int       `json:"asked"`    // how many times
	First    time.Time `json:"first"`    // when it was first asked
	Last     time.Time `json:"last"`
	// Offered says that enough callers asked it for it to be suggested to others.
	Offered bool `json:"offered"`
	// Restricted says that keys with a filter asked it. It is suggested to keys with the same filter only.
	Restricted bool `json:"restricted"`
}

// AnsweredList has the answered questions of a collection.
type AnsweredList struct {
	Keep      int        `json:"keep"`   // how many the server keeps at most; 0: none
	Askers    int        `json:"askers"` // how many keys or addresses have to ask a question before it is suggested
	Questions []Answered `json:"questions"`
}

// Unanswered returns the questions that searches did not answer, those asked most often first. There are none unless
// the server's configuration sets unanswered.keep. The error is a *Problem if the server refuses, as for a collection
// in a store.
func (c *Client) Unanswered(ctx context.Context) (out UnansweredList, err error) {
	_, err = c.do(ctx, call{method: http.MethodGet, path: "/v1/admin/unanswered"}, &out)
	return out, err
}

// RemoveUnanswered removes a question from the unanswered ones, or all of them if question is "". It returns how many
// it removed: 0 if the question is not among them. The error is a *Problem if the server refuses.
func (c *Client) RemoveUnanswered(ctx context.Context, question string) (removed int, err error) {
	return c.removeQuestions(ctx, "/v1/admin/unanswered", question)
}

// Answered returns the questions that searches answered, those asked most often first. There are none unless the
// server's configuration sets answered.keep. The error is a *Problem if the server refuses, as for a collection in a
// store.
func (c *Client) Answered(ctx context.Context) (out AnsweredList, err error) {
	_, err = c.do(ctx, call{method: http.MethodGet, path: "/v1/admin/answered"}, &out)
	return out, err
}

// RemoveAnswered removes a question from the answered ones, or all of them if question is "", so that it is suggested
// no more. It returns how many it removed: 0 if the question is not among them. The error is a *Problem if the server
// refuses.
func (c *Client) RemoveAnswered(ctx context.Context, question string) (removed int, err error) {
	return c.removeQuestions(ctx, "/v1/admin/answered", question)
}

// removeQuestions removes a question from the list at a path, or the whole list if question is "". It returns how many
// it removed. The error is a *Problem if the server refuses.
func (c *Client) removeQuestions(ctx context.Context, path, question string) (removed int, err error) {
	query := url.Values{}
	if question != "" {
		query.Set("question", question)
	}
	var out struct {
		Removed int `json:"removed"`
	}
	_, err = c.do(ctx, call{method: http.MethodDelete, path: path, query: query}, &out)
	return out.Removed, err
}

// Judge keeps what a user says of a passage as an answer to a question: answers is true for a thumb up and false for a
// thumb down. A later judgment of the same question and passage replaces it. The error is a *Problem if the server
// refuses, as for an unknown passage.
func (c *Client) Judge(ctx context.Context, question, passage string, answers bool) error {
	grade := 0
	if answers {
		grade = 1
	}
	body := map[string]any{"question": question, "passage": passage, "grade": grade}
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/judgments", body: body}, nil)
	return err
}
