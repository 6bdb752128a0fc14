package talk

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Chat programs ask the model for a title, tags and the like of a conversation, in a message that has an instruction
// and the conversation: lines with the names of who speaks, maybe between tags such as <chat_history>. What is wanted
// is a JSON object that the instruction shows, or a title.

// mostTitle is the largest number of bytes of a title, about.
const mostTitle = 60

var (
	spoken   = regexp.MustCompile(`(?m)^[ \t]*(?:(?i:user|human)|(?i:assistant|ai|bot)) ?: ?`)
	byUser   = regexp.MustCompile(`(?im)^[ \t]*(?:user|human) ?: ?(.*)$`)
	byModel  = regexp.MustCompile(`(?im)^[ \t]*(?:assistant|ai|bot) ?: ?`)
	aTitle   = regexp.MustCompile(`(?i)\btitle\b`)
	anObject = regexp.MustCompile(`\{[^{}]*\}`)
)

// AnswerTask returns the answer to a message in which a chat program asks for a title, tags or the like of a
// conversation: a JSON object as the instruction shows one, with the beginning of the first thing that the user
// said as each text, and an empty list for each list; without such an object, that beginning alone. ok is false for
// other messages.
func AnswerTask(message string) (answer string, ok bool) {
	begin := spoken.FindStringIndex(message)
	if begin == nil || !byModel.MatchString(message) {
		return "", false
	}
	instruction := message[:begin[0]]
	first := byUser.FindStringSubmatch(message[begin[0]:])
	if first == nil || strings.TrimSpace(instruction) == "" {
		return "", false
	}
	title := shortTitle(first[1])
	for _, text := range anObject.FindAllString(instruction, -1) {
		var wanted map[string]any
		if json.Unmarshal([]byte(text), &wanted) != nil || len(wanted) == 0 {
			continue
		}
		for key, value := range wanted {
			switch value.(type) {
			case []any:
				wanted[key] = []any{}
			case string:
				wanted[key] = title
			default:
				return "", false
			}
		}
		out, err := json.Marshal(wanted)
		return string(out), err == nil
	}
	return title, aTitle.MatchString(instruction)
}

// shortTitle returns the beginning of a text as a title: whole words on one line, at most mostTitle bytes, without
// the punctuation at its end.
func shortTitle(text string) string {
	title := strings.Join(strings.Fields(text), " ")
	if len(title) > mostTitle {
		end := mostTitle
		for !utf8.RuneStart(title[end]) {
			end--
		}
		title = title[:end]
		if space := strings.LastIndexByte(title, ' '); space > 0 {
			title = title[:space]
		}
	}
	return strings.TrimRight(title, " .,;:?!")
}
