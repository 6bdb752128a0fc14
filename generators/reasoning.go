package generators

import (
	"regexp"
	"strings"
)

// Marks by which models set their reasoning apart from the answer: <think>, <|START_THINKING|>, [THINK], ◁think▷ and
// their kind, and the channels of the harmony format.
var (
	thinkingMark = regexp.MustCompile(
		`(?i)[<\[◁]\|?(/?)(start_|end_)?(?:think(?:ing)?|thought|reasoning|reflection)\|?[>\]▷]`)
	channelMark = regexp.MustCompile(`<\|channel\|>\s*([a-z]*)[^<]*<\|message\|>`)
	channelEnd  = regexp.MustCompile(`<\|(?:end|return|call|start)\|>`)
)

// What is left of the harmony format where a server drops its marks.
const (
	bareAnalysis = "analysis"
	bareFinal    = "assistantfinal"
)

// longestMark is larger than the number of bytes of each of these marks.
const longestMark = 64

// reasoningFilter cuts the reasoning out of what a model writes, piece by piece. The zero value begins a new answer.
type reasoningFilter struct {
	// waits reports whether nothing is let through until reasoning or the answer has ended. That is the only way not to
	// show reasoning that has no mark at its beginning, only one at its end.
	waits bool
	bare  bool // there was such reasoning
	all   string
	shown int // bytes of the answer that were returned
}

// filterPiece takes the next piece of what a model wrote and returns the next part of the answer, "" if it is not
// certain yet. ends reports that the piece is the last one.
func (f *reasoningFilter) filterPiece(piece string, ends bool) string {
	f.all += piece
	cut := cutReasoning(f.all, ends)
	f.bare = f.bare || cut.bare
	if f.waits && !ends && !cut.ended {
		return ""
	}
	if len(cut.answer) < f.shown { // an end of reasoning came late: what was returned cannot be taken back
		return ""
	}
	more := cut.answer[f.shown:]
	f.shown = len(cut.answer)
	return more
}

// withoutReasoning is a text from which cutReasoning removed the reasoning.
type withoutReasoning struct {
	answer string
	ended  bool // reasoning ended in the text
	bare   bool // it had a mark at its end alone
}

// cutReasoning returns the answer in what a model wrote so far, without its reasoning. Unless ends is set, the answer
// leaves out an end of text that may become a mark.
func cutReasoning(text string, ends bool) withoutReasoning {
	if !ends {
		text = text[:len(text)-partialMark(text)]
	}
	if channelMark.MatchString(text) || strings.HasPrefix(strings.TrimSpace(text), "<|channel|>") {
		answer := finalChannel(text)
		return withoutReasoning{answer: answer, ended: answer != ""}
	}
	trimmed := strings.TrimSpace(text)
	if rest, is := strings.CutPrefix(trimmed, bareAnalysis); is && (rest == "" || !startsLower(rest)) {
		_, final, found := strings.Cut(rest, bareFinal)
		switch {
		case found:
			return withoutReasoning{answer: final, ended: true}
		case !ends:
			return withoutReasoning{}
		}
	}
	if !ends && trimmed != "" && strings.HasPrefix(bareAnalysis, trimmed) {
		return withoutReasoning{}
	}
	return cutMarked(text)
}

// cutMarked returns a text without its passages of reasoning, each of which stands between two marks. A closing mark
// without an opening one cuts everything before it. Reasoning without a closing mark reaches to the end.
func cutMarked(text string) (out withoutReasoning) {
	var answer strings.Builder
	inside := false
	at := 0
	for _, m := range thinkingMark.FindAllStringSubmatchIndex(text, -1) {
		closes := m[2] < m[3] || m[4] >= 0 && strings.EqualFold(text[m[4]:m[5]], "end_")
		switch {
		case closes:
			out.ended = true
			if !inside {
				out.bare = true
				answer.Reset()
			}
			inside = false
		case !inside:
			answer.WriteString(text[at:m[0]])
			inside = true
		}
		at = m[1]
	}
	if !inside {
		answer.WriteString(text[at:])
	}
	out.answer = answer.String()
	return out
}

// finalChannel returns the texts of the messages in the channel "final" of an answer in OpenAI's harmony format,
// joined; "" if it has none so far.
func finalChannel(text string) string {
	var out strings.Builder
	for _, m := range channelMark.FindAllStringSubmatchIndex(text, -1) {
		if text[m[2]:m[3]] != "final" {
			continue
		}
		body := text[m[1]:]
		if end := channelEnd.FindStringIndex(body); end != nil {
			body = body[:end[0]]
		}
		out.WriteString(body)
	}
	return out.String()
}

// partialMark returns how many bytes at the end of text may be the beginning of a mark that is not complete yet; 0 if
// none are.
func partialMark(text string) int {
	from := max(0, len(text)-longestMark)
	if at := strings.LastIndexAny(text[from:], "<[◁"); at >= 0 && !strings.ContainsAny(text[from+at:], ">]▷\n") {
		return len(text) - from - at
	}
	return 0
}

// startsLower reports whether a text begins with a small letter from a to z.
func startsLower(text string) bool { return text != "" && text[0] >= 'a' && text[0] <= 'z' }
