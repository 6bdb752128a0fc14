package documents

import (
	"regexp"
	"strings"
)

var (
	cueTime = regexp.MustCompile(`^\s*((?:\d{1,3}:)?\d{1,2}:\d{2})[.,]\d{1,3}\s+-->\s+`)
	cueTags = regexp.MustCompile(`<[^>]*>|\{\\[^}]*\}`)
)

// longestCues is the length in bytes after which a paragraph of subtitles ends even without the end of a sentence.
const longestCues = 600

// readSubtitles writes subtitles in SRT or WebVTT to w. Sentences are collected in paragraphs, each with the time
// at which it begins before it, "[00:01:30] ". A paragraph also ends after longestCues bytes. The title is always
// "" and the error nil.
func readSubtitles(w *writer, text string) (string, error) {
	var spoken []string
	size := 0
	begin := ""
	flush := func() {
		if len(spoken) > 0 {
			w.add(Paragraph, 0, "["+begin+"] "+joinLines(spoken))
		}
		spoken, size = nil, 0
	}
	cue, inText := "", false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if m := cueTime.FindStringSubmatch(line); m != nil {
			cue = m[1]
			inText = true
			if strings.Count(cue, ":") == 1 {
				cue = "00:" + cue
			}
			continue
		}
		if line == "" {
			inText = false
			continue
		}
		if !inText { // a number, the name of a cue, a note
			continue
		}
		line = strings.TrimSpace(cueTags.ReplaceAllString(line, ""))
		if line == "" {
			continue
		}
		if len(spoken) == 0 {
			begin = cue
		}
		spoken = append(spoken, line)
		size += len(line)
		if ends(line) || size > longestCues {
			flush()
		}
	}
	flush()
	return "", nil
}
