package talk

import "testing"

// TestTrimCourtesies: what is said before and behind a question is taken off it, and nothing inside it.
func TestTrimCourtesies(t *testing.T) {
	for message, want := range map[string]string{
		"Hello, who built the mill?":                        "who built the mill?",
		"Good morning! Who built the mill? Thanks a lot!":   "Who built the mill?",
		"who built the mill? thank you very much":           "who built the mill?",
		"Who built the mill? It is in Lund.":                "Who built the mill? It is in Lund.",
		"thank you very much!":                              "thank you very much!",
		"hello":                                             "hello",
		"who says hello, and who says goodbye to the king?": "who says hello, and who says goodbye to the king?",
		"when does a thank-you note arrive?":                "when does a thank-you note arrive?",
	} {
		if got := TrimCourtesies(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// TestClassify: kinds of messages that are not in the examples as they stand here.
func TestClassify(t *testing.T) {
	for kind, messages := range map[Kind][]string{
		Greeting: {"Hello!", "Hi there, how are you doing?", "good morning everyone", "Hey bot", "HELLO???"},
		Thanks: {
			"Thanks!", "thank you very much for the quick answer", "Great, thank you!",
			"Perfect, that's what I wanted to know.",
			"ok thanks that was very helpful", "awesome 👍", "Hello, thanks for your help!",
		},
		Aside:   {"ok", "Ok, I see.", "never mind", "yes", "no"},
		Goodbye: {"bye!", "Goodbye, and have a nice evening", "ok see you tomorrow", "thanks, bye"},
		Who: {
			"Who are you?", "hi, who are you?", "What can you do for me?", "are you a real bot", "which questions can I ask here?",
			"Hello! Can you help me?",
		},
		Count: {
			"How many documents do you have?", "how many files are in the collection", "Please list all your documents",
			"hi, which documents do you have", "what files did I upload?",
		},
		About: {
			"What are your documents about?", "what is in this collection?", "Can you give me a summary of all the documents?",
		},
		Updated: {"When were you last updated?", "how up to date is this collection?", "when were the files added"},
		Question: {
			"", " ", "?", "how many documents do I need for a visa?", "what is your address?", "who are the authors",
			"thank you letter after an interview", "when was the bridge last updated", "hello kitty",
			"good morning vietnam plot",
			"thanks, and what about children?", "hi, what is the fine for travelling without a ticket?", "why", "and then?",
			"day", "time", "how old is the earth", "what are the opening hours", "how many files can I attach?", "who are you allowed to bring",
			"goodbye lenin director", "what can you do against mould", "how many documents, and what is a visa?",
		},
	} {
		for _, message := range messages {
			if got, _ := Classify(message, false); got != kind {
				t.Errorf("%q is %s, want %s", message, got, kind)
			}
		}
	}
	for message, kind := range map[string]Kind{
		"what is this about?": Question, "what is this collection about?": About, "thanks": Thanks, "summary": Question,
	} {
		if got, _ := Classify(message, true); got != kind {
			t.Errorf("behind a question %q is %s, want %s", message, got, kind)
		}
	}
	if got, _ := Classify("what is this about?", false); got != About {
		t.Errorf("at the beginning it is %s", got)
	}
}

// TestMentions: the first reading of a message about a document.
func TestMentions(t *testing.T) {
	for message, want := range map[string]Mention{
		"summarise health.pdf":                             {Document, "health.pdf", ""},
		"Could you summarize the file health.pdf, please?": {Document, "health.pdf", ""},
		"What does vasa.md say?":                           {Document, "vasa.md", ""},
		"what does the Vasa document say?":                 {Document, "Vasa", ""},
		"What does Vasa say about the sinking?":            {Within, "Vasa", "the sinking"},
		"what is “Annual Report 2024” about?":              {Document, "Annual Report 2024", ""},
		"in notes/a b.docx, who signed it?":                {Within, "notes/a b.docx", "who signed it"},
		"according to policy.docx what is the fine":        {Within, "policy.docx", "what is the fine"},
	} {
		got := Mentions(message)
		if len(got) == 0 || got[0] != want {
			t.Errorf("%q: %+v, want %+v", message, got, want)
		}
	}
	for _, message := range []string{
		"what is Vasa about?", "in Rome, who was emperor?", "how long is the Panama canal", "",
	} {
		if got := Mentions(message); len(got) > 0 {
			t.Errorf("%q: %+v", message, got)
		}
	}
}

// TestBehindAQuestion: short messages go on with the question before, and whole ones about the collection do not.
func TestBehindAQuestion(t *testing.T) {
	for _, message := range []string{
		"and how old?", "how old is it?", "how many?", "and how many are there?", "when?", "how big?", "how new is it?",
		"what about it?", "and what is it about?",
	} {
		if kind, _ := Classify(message, true); kind != Question {
			t.Errorf("%q is %s", message, kind)
		}
	}
	for message, want := range map[string]Kind{
		"how many documents are there?": Count, "and who are you?": Who, "what can I ask?": Who, "thank you!": Thanks,
		"when were you updated?": Updated, "how old are your documents?": Updated, "which documents do you have?": Count,
	} {
		if kind, _ := Classify(message, true); kind != want {
			t.Errorf("%q is %s, want %s", message, kind, want)
		}
	}
}
