package search

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"example.org/conclave/internal/identity"
	"example.org/conclave/internal/talk"
	"example.org/conclave/search/internal/answering"
	"example.org/conclave/search/internal/plan"
	"example.org/conclave/search/internal/question"
	"example.org/conclave/search/internal/run"
	"example.org/conclave/search/internal/snapshot"
	"example.org/conclave/search/internal/sources"
	"example.org/conclave/search/reply"
)

// topicsHeld is the greatest number of topics that a line-up remembers, one for each message of a conversation.
const topicsHeld = 4096

// topics remembers the topics of recent conversations, by the hash of their messages. The zero value is empty. Several
// goroutines may use it.
type topics struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]answering.Topic // at most topicsHeld
}

// get returns the topic of a key; found is false if none is held.
func (t *topics) get(key [sha256.Size]byte) (topic answering.Topic, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	topic, found = t.known[key]
	return topic, found
}

// put stores the topic under a key. If topicsHeld topics are stored already, it forgets all of them first.
func (t *topics) put(key [sha256.Size]byte, topic answering.Topic) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= topicsHeld {
		t.known = make(map[[sha256.Size]byte]answering.Topic)
	}
	t.known[key] = topic
}

// findTopic returns the topic of the user's messages, oldest first: that of the passage that answers the last of them,
// which is asked with the topic of those before it. It is the zero Topic if there are no messages or none is answered.
// Topics are remembered for messages, caller, filter and generation. It fails silently: if ctx ends or asking fails,
// the topic is that of the messages before, or zero.
func (l *lineUp) findTopic(
	ctx context.Context,
	q *sources.Inquiry,
	view *snapshot.PinnedView,
	messages []string,
) answering.Topic {
	if len(messages) == 0 || ctx.Err() != nil {
		return answering.Topic{}
	}
	by := identity.Of(ctx)
	key, err := json.Marshal([]any{
		by.Name, by.Restriction, view.Generation(), q.Filter, q.Filter.Must, q.Filter.MustNot, q.Filter.Hidden,
		messages,
	})
	if err != nil {
		return answering.Topic{}
	}
	sum := sha256.Sum256(key) // the messages may be long
	if topic, found := l.topics.get(sum); found {
		return topic
	}
	last := len(messages) - 1
	before := l.findTopic(ctx, q, view, messages[:last])
	topic, err := l.topicOf(ctx, q, view, before, messages)
	if err != nil {
		return before
	}
	if ctx.Err() == nil {
		l.topics.put(sum, topic)
	}
	return topic
}

// topicOf searches for the last of messages, in the conversation before it, and returns the topic of the passage that
// answers it. before is the topic so far; it is returned if the last message asks nothing, if the collection may not
// answer it, and with an error. messages must not be empty. It fails if the message cannot be planned, no source
// answers, or a passage cannot be read.
func (l *lineUp) topicOf(
	ctx context.Context,
	q *sources.Inquiry,
	view *snapshot.PinnedView,
	before answering.Topic,
	messages []string,
) (answering.Topic, error) {
	last := len(messages) - 1
	if kind, _ := talk.Classify(messages[last], last > 0); kind != talk.Question {
		return before, nil
	}
	p, err := l.plan(&Request{Question: messages[last], Filter: q.Filter})
	if err != nil {
		return before, err
	}
	p.Inquiry.Filter = q.Filter // with what passages must have
	p.Inquiry.Before = messages[:last]
	o := l.askInConversation(ctx, p.Inquiry, before, view.Separate())
	a, err := l.rank(ctx, Caller{}, p, o, o.found.All)
	if err != nil {
		return before, err
	}
	defer a.Done()
	return a.Topic(ctx, before)
}

// askInConversation completes and corrects a question, adds synonyms, and asks the sources. If there are messages
// before it, it also asks, at the same time, the question with the title of the topic; without a title, the question
// after those messages. A question is neither completed nor corrected if the caller may not see all passages, nor
// corrected if its spelling is not known (Panel.KnowsSpelling). Failures of sources are in the findings.
func (l *lineUp) askInConversation(
	ctx context.Context,
	q sources.Inquiry,
	about answering.Topic,
	view *snapshot.PinnedView,
) *askResult {
	ask := func(q sources.Inquiry) *askResult {
		o := &askResult{about: about}
		var begun question.Completed
		if q.Prefix && !identity.IsRestricted(ctx) {
			begun = question.Completer{Run: l.panel.Run}.Complete(ctx, view, q.Question)
			q.Question = begun.Question
			o.corrections = begun.Changes
			o.doubt = begun.Doubt
		}
		if q.Correct &&
			!identity.IsRestricted(ctx) && // what is said of it may be words of passages that are not seen
			l.panel.KnowsSpelling(ctx, view, q.Question) {
			speller := question.Speller{Run: l.panel.Run, Language: l.language}
			corrected, corrections, doubt := speller.Correct(ctx, view, q.Question)
			q.Question = corrected
			o.corrections = append(corrections, o.corrections...)
			o.doubt = cmp.Or(o.doubt, doubt)
		}
		q.Words, o.synonyms = question.AddSynonyms(q.Question, l.defaults.Synonyms)
		for _, word := range begun.Others {
			q.Words += " " + word
		}
		o.found = l.panel.Ask(ctx, q, view)
		return o
	}
	behind := ""
	if len(q.Before) > 0 {
		focuser := question.Focuser{Panel: l.panel}
		behind = focuser.Join(q.Before, q.Question)
		if about.Title != "" {
			behind = q.Question + " (" + about.Title + ")"
		}
	}
	var running sync.WaitGroup
	var earlier *askResult
	if behind != "" {
		other := q
		other.Question = behind
		running.Go(func() { earlier = ask(other) })
	}
	o := ask(q)
	running.Wait()
	if earlier != nil {
		o.earlier = earlier.found
	}
	return o
}

// rewriteMessages lets the request's generator rewrite the last message of a conversation as a question that stands
// alone. That question replaces all messages in the plan, and p.Inquiry.Message becomes the message as it was. It has
// at most the given number of bytes. rewriteMessages returns how long it took. It does nothing and returns 0 if there
// is no conversation or no such generator. If rewriting fails, the messages stay, and p.Unwritten says why.
func rewriteMessages(ctx context.Context, by Caller, p *plan.Plan, bytes int) time.Duration {
	if len(p.Inquiry.Before) == 0 || p.Writer == nil || p.Writer.Rewriter == nil {
		return 0
	}
	defer by.reportWait()()
	began := time.Now()
	within := p.Inquiry.WritingTime / question.ShareOfRewriting
	question, err := question.Rewrite(ctx, p.Writer.Rewriter, p.Inquiry.Before, p.Inquiry.Question, bytes, within)
	if err == nil {
		if question != p.Inquiry.Question {
			p.Inquiry.Message = p.Inquiry.Question
		}
		p.Inquiry.Question, p.Inquiry.Before = question, nil
		return time.Since(began)
	}
	reason := run.AdviceOf(err)
	if reason == "" {
		reason = err.Error()
	}
	p.Unwritten = &reply.Missing{
		Source: p.Writer.Name,
		Reason: "the last message was asked as it is and behind those before it, " +
			"not as a question that stands alone: " + reason,
	}
	return time.Since(began)
}
