package talk

import "testing"

// TestAnswerTask, with prompts of the forms that chat programs send.
func TestAnswerTask(t *testing.T) {
	const history = "\n### Chat History:\n<chat_history>\nUSER: How do I get back the money for a train that was late?\n" +
		"ASSISTANT: Half of the fare [1].\nUSER: thanks\n</chat_history>"
	const title = "How do I get back the money for a train that was late"
	for prompt, want := range map[string]string{
		"### Task:\nWrite a short title.\n### Output:\nJSON format: { \"title\": \"the title\" }\n### Examples:\n" +
			"- { \"title\": \"Tea\" }" + history: `{"title":"` + title + `"}`,
		"### Task:\nName 1-3 topics.\n### Output:\nJSON format: { \"tags\": [\"one\", \"two\"] }" + history:   `{"tags":[]}`,
		"### Task:\nSuggest questions.\nJSON format: { \"follow_ups\": [\"A?\", \"B?\"] }" + history:          `{"follow_ups":[]}`,
		"Provide a title of five words for the conversation.\n\nConversation:\nUser: Where is it?\nAI: There": "Where is it",
	} {
		if got, ok := AnswerTask(prompt); !ok || got != want {
			t.Errorf("%.40q: %q, want %q", prompt, got, want)
		}
	}
	for _, message := range []string{
		"", "title", "What is the title of the book?", "User: where is it?\nAssistant: there",
		"Our customer wrote this. What is the rule?\nUser: my train was late\nAssistant: sorry",
		"This is my config {\"port\": 80}\nUser: nobody",
		"Why is {\"port\": 80} refused?\nuser: root\nbot: no",
	} {
		if got, ok := AnswerTask(message); ok {
			t.Errorf("%q: %q", message, got)
		}
	}
}
