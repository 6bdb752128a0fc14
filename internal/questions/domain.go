package questions

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrDomain is the error for files whose questions cannot be told apart.
var ErrDomain = errors.New("name the domain of each file")

// Domain is a named set of questions.
type Domain struct {
	Name      string
	Path      string // where they are from
	Questions []Question
	LeftOut   int // questions of the file without a judgement
	Of        int // questions before a limit
	// SHA256 is that of the ids and texts of these questions, Whole of all before a
	// limit.
	SHA256, Whole string
}

// NewDomain takes at most so many of the questions; 0: all.
func NewDomain(name string, questions []Question, limit int) Domain {
	some := Sample(questions, limit)
	return Domain{Name: name, Questions: some, Of: len(questions), SHA256: sumOf(some), Whole: sumOf(questions)}
}

func sumOf(questions []Question) string {
	sum := sha256.New()
	for _, q := range questions {
		_, _ = fmt.Fprintf(sum, "%q %q\n", q.ID, q.Text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// ReadDomains reads sources and sorts their questions by domain: the one that the
// source was given, or what the questions themselves say.
func ReadDomains(sources []File, limit int) ([]Domain, error) {
	var domains []Domain
	places := map[[2]string]string{} // by domain and id
	for _, source := range sources {
		set, err := Read(source)
		if err != nil {
			return nil, err
		}
		for n, q := range set.Questions {
			key := [2]string{q.Domain, q.ID}
			if first, twice := places[key]; twice {
				return nil, fmt.Errorf("%s: the id %q is that of %s already: %w", q.Place, q.ID, first, ErrDomain)
			}
			places[key] = q.Place
			at := slices.IndexFunc(domains, func(d Domain) bool { return d.Name == q.Domain })
			if at < 0 {
				at = len(domains)
				domains = append(domains, Domain{Name: q.Domain, Path: source.Path})
			}
			domains[at].Questions = append(domains[at].Questions, q)
			if n == 0 {
				domains[at].LeftOut += set.LeftOut
			}
		}
	}
	for i, d := range domains {
		if d.Name == "" && len(domains) > 1 {
			return nil, fmt.Errorf("%s: its questions name no domain, and others do: %w", d.Path, ErrDomain)
		}
		domains[i] = NewDomain(d.Name, d.Questions, limit)
		domains[i].Path, domains[i].LeftOut = d.Path, d.LeftOut
	}
	return domains, nil
}

// InTurns returns texts of questions, one of each domain in turn, n at most.
func InTurns(domains []Domain, n int) (texts []string) {
	for i, more := 0, true; more; i++ {
		more = false
		for _, d := range domains {
			if i < len(d.Questions) && len(texts) < n {
				texts = append(texts, d.Questions[i].Text)
				more = true
			}
		}
	}
	return texts
}

// Foreign returns n questions of each domain but one, which nothing in that one's
// collection answers.
func Foreign(domains []Domain, but, n int) Domain {
	out := Domain{Name: "foreign"}
	for i, d := range domains {
		if i == but {
			continue
		}
		for _, q := range Sample(d.Questions, n) {
			out.Questions = append(
				out.Questions,
				Question{ID: d.Name + "/" + q.ID, Text: q.Text, Drawn: q.Drawn, Unanswerable: true},
			)
		}
	}
	return out
}

//go:embed nonsense.txt
var nonsense string

// NonsenseDomain is the name of Nonsense.
const NonsenseDomain = "nonsense"

// Nonsense returns texts that ask nothing: letters, numbers, strings of letters, function
// words, and what people say to a chatbot. No passage answers them, whatever it is about.
func Nonsense() Domain {
	var all []Question
	for i, text := range strings.Split(strings.TrimSpace(nonsense), "\n") {
		all = append(all, Question{ID: fmt.Sprint(i + 1), Text: text, Unanswerable: true})
	}
	return NewDomain(NonsenseDomain, all, 0)
}

//go:embed subjects.txt
var subjects string

// SubjectsDomain is the name of Subjects.
const SubjectsDomain = "subjects"

// Subjects returns questions about many subjects, which most collections are not about. Some may answer one
// of them.
func Subjects() Domain {
	var all []Question
	for i, text := range strings.Split(strings.TrimSpace(subjects), "\n") {
		all = append(all, Question{ID: fmt.Sprint(i + 1), Text: text, Unanswerable: true})
	}
	return NewDomain(SubjectsDomain, all, 0)
}
