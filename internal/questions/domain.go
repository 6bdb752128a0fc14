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

// ErrDomain is the error of files that have questions with the same id, which need domains to be told apart.
var ErrDomain = errors.New("name the domain of each file")

// Domain is a set of questions with a name.
type Domain struct {
	Name string
	// file or folder of the questions
	Path      string
	Questions []Question
	// number of questions of the file that were left out, since nothing is relevant for them
	LeftOut int
	// number of questions before a limit
	Of int
	// SHA256 is the hash of the ids and texts of Questions, Whole that of all questions before a limit.
	SHA256, Whole string
}

// NewDomain returns a domain with a sample of at most limit of the questions, in their order (Sample); 0 stands for
// all. Its hashes are of the sample and of all questions.
func NewDomain(name string, questions []Question, limit int) Domain {
	some := Sample(questions, limit)
	return Domain{Name: name, Questions: some, Of: len(questions), SHA256: sumOf(some), Whole: sumOf(questions)}
}

// sumOf returns the SHA-256 of the ids and texts of questions, in hexadecimal.
func sumOf(questions []Question) string {
	sum := sha256.New()
	for _, q := range questions {
		_, _ = fmt.Fprintf(sum, "%q %q\n", q.ID, q.Text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// ReadDomains reads files of questions and sorts the questions into domains, in the order of their first questions:
// the domain of their file, or the one that a question names. Of each domain it takes at most limit questions
// (Sample); 0 stands for all. It fails with ErrDomain if a domain would have one id twice, or some questions have
// no domain and others do.
func ReadDomains(sources []QuestionFile, limit int) ([]Domain, error) {
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

// InTurns returns the texts of at most n questions: the first of each domain, then the second of each, and so on.
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

// Foreign returns at most n questions of each domain other than domains[but], or all if n is 0, as questions that
// nothing in the collection of that one answers. Their ids begin with the name of their domain. A negative but
// takes all domains.
func Foreign(domains []Domain, but, n int) Domain {
	out := Domain{Name: "foreign"}
	for i, d := range domains {
		if i == but {
			continue
		}
		for _, q := range Sample(d.Questions, n) {
			out.Questions = append(
				out.Questions, Question{ID: d.Name + "/" + q.ID, Text: q.Text, Drawn: q.Drawn, Unanswerable: true},
			)
		}
	}
	return out
}

//go:embed nonsense.txt
var nonsense string

// NonsenseDomain is the name of Nonsense.
const NonsenseDomain = "nonsense"

// Nonsense returns texts that ask nothing, as unanswerable questions: letters, numbers, strings of letters, function
// words, and phrases that people write to a chatbot.
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

// Subjects returns questions about many subjects, marked as unanswerable, which most collections are not about. A
// collection may answer one of them all the same.
func Subjects() Domain {
	var all []Question
	for i, text := range strings.Split(strings.TrimSpace(subjects), "\n") {
		all = append(all, Question{ID: fmt.Sprint(i + 1), Text: text, Unanswerable: true})
	}
	return NewDomain(SubjectsDomain, all, 0)
}
