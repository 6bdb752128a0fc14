package handlers

import (
	"fmt"

	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/handlers/upload"
	"example.org/conclave/internal/corpus"
	"example.org/conclave/internal/overload"
	"example.org/conclave/internal/wording"
	"example.org/conclave/store"
)

// storeGroup stores some lines in one change and adds their results to the answer. It waits for a place, which an
// upload holds only while it stores. It returns a problem if the lines cannot be stored. Otherwise it returns nil.
func (u *uploadRequest) storeGroup(lines []upload.Line) *schema.Problem {
	stop := u.api.keepExtending(u.extendDeadlines)
	err := u.api.storing.Acquire(u.storing, 1)
	stop()
	if err != nil {
		return problemOf(u.storing, err)
	}
	defer u.api.storing.Release(1)
	defer overload.AtWork(u.request.Context())()
	answers := make([]any, len(lines))
	changes := make([]store.Change, 0, len(lines))
	places := make([]int, 0, len(lines)) // of changes, in lines
	unknown := make([][]string, len(lines))
	rejected := 0
	if err := u.api.options.Admission.Work(u.storing, u.who, func() {
		for i := range lines {
			line := UploadLine{Line: lines[i].Number}
			passage, p := u.parseLine(&lines[i])
			unknown[i] = u.unknown
			u.unknown = nil
			if p == nil {
				changes, places = append(changes, store.Change{Put: &passage}), append(places, i)
				continue
			}
			line.ID = wording.Shorten(passage.ID)
			line.Status = statusRejected
			line.Error = u.completeProblem(p)
			line.Unknown = unknown[i]
			answers[i] = line
			rejected++
		}
	}); err != nil {
		return problemOf(u.storing, err)
	}
	u.api.options.Metrics.countRejectedLines(rejected)
	if len(changes) > 0 {
		results, err := u.api.applyChanges(u.storing, u.writer, changes, u.extendDeadlines)
		if err != nil {
			return problemOf(u.storing, err)
		}
		for n, result := range results {
			line := UploadLine{
				Line:    lines[places[n]].Number,
				ID:      result.ID,
				Status:  string(result.Outcome),
				Version: result.Version,
				Unknown: unknown[places[n]],
			}
			if result.Err != nil {
				p := refusedChange(result.Err)
				front.ExchangeOf(u.request.Context()).Cause = p.Cause
				line.Error = u.completeProblem(p)
				line.Status = statusRejected
				line.Version = ""
				rejected++
			} else {
				line.ReadAs = u.api.describeReading(changes[n].Put)
				u.countReading(line.ReadAs)
			}
			u.last = max(u.last, result.Seq)
			answers[places[n]] = line
		}
	}
	for _, answer := range answers {
		if u.inARow++; answer.(UploadLine).Status != statusRejected {
			u.inARow = 0
		}
	}
	u.rejected += rejected
	u.accepted += len(lines) - rejected
	if err := u.answer.Add(answers...); err != nil {
		return schema.NewProblem(
			"answer_lost",
			"The answer could not be kept until the body ends. Some of the lines that follow were stored; send them again, which does no harm.",
		).Because(err)
	}
	u.lines += len(lines)
	u.reached = lines[len(lines)-1].Number
	return nil
}

// countReading adds a stored line to u.cut if an expert reads only its beginning, and to u.unread if one can hardly
// read it.
func (u *uploadRequest) countReading(r ReadAs) {
	if r.Truncated {
		u.cut++
	}
	if r.Unread {
		u.unread++
	}
}

// parseLine returns the passage in a line. It returns a problem if the line is too long, invalid, or has no id. Unless
// the upload is strict, it accepts other field names (normaliseLine).
func (u *uploadRequest) parseLine(line *upload.Line) (passage corpus.Passage, p *schema.Problem) {
	if line.TooLong {
		return passage, schema.NewProblem(
			"line_too_long", fmt.Sprintf("The line has more than %d bytes.", u.api.options.Write.LineBytes),
		)
	}
	inOrder := keepAsWritten
	if !u.strict {
		inOrder = func(object map[string]any) *schema.Problem { return normaliseLine(object, u.noteUnknown) }
	}
	passage, p = u.api.parsePassage(line.Text, inOrder)
	if p != nil {
		return passage, p
	}
	if passage.ID == "" {
		return passage, schema.NewProblem("missing_field", "/id is missing.", schema.ProblemField{Pointer: "/id", Detail: "is missing"})
	}
	return passage, passageProblem(&passage)
}

// noteUnknown records the name of an unknown field, each once and at most maxUnknown.
func (u *uploadRequest) noteUnknown(name string) {
	name = wording.Shorten(name)
	if !u.seen[name] && len(u.seen) < maxUnknown {
		u.seen[name] = true
		u.unknown = append(u.unknown, name)
	}
}
