// Package evaluation measures rankings: questions in, accuracy tables, reports and run
// files out.
//
// The questions are asked once for all methods (Evaluate), and summarised: one table
// for each domain, the mean over domains, and the mix of all questions. A method is
// whatever makes a ranking: a source alone, a fusion, or an oracle that picks among the
// experts.
package evaluation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/conclave/internal/questions"
	"example.org/conclave/search"
	"example.org/conclave/search/learned"
	"example.org/conclave/search/reply"
)

// MeasureOptions say what to measure and how.
type MeasureOptions struct {
	About      About
	Methods    []Method // without oracles; these follow from the sources alone
	Metrics    []Metric // beside those that are measured anyway; see AskedMetric
	Depth      int      // results of each ranking; 0: 100
	Candidates int      // hits of each source; 0: the engine's default
	Exact      bool
	Timeout    time.Duration   // of one question
	Patterns   bool            // answers are regular expressions
	Timed      int             // questions with which single requests are timed; 0: none
	Reference  string          // method that the others are tested against; "": auto, or else the first fusion
	Out        []reply.Missing // experts that are known to be left out
	Otherwise  string          // expert that stands for that of a domain without its own; "": none
	Notes      []string        // for the report, before its own
	Runs       *Runs           // nil: none are written
	State      *State          // nil: nothing is kept
	// Progress is told the stage (a domain, or the timing) and how far it is.
	Progress func(stage string, done, total int)
}

// About is what was measured. It is a part of the report, and a State has figures for the same About only.
type About struct {
	Collection string               `json:"collection"`
	Generation uint64               `json:"generation"`
	Passages   int                  `json:"passages"`
	Experts    []learned.ExpertInfo `json:"experts"`
	Version    string               `json:"version,omitempty"` // of the program
	Settings   any                  `json:"settings,omitempty"`
	// Calibration is the SHA-256 of what the collection was calibrated to; ""
	// for one that was not.
	Calibration string `json:"calibration,omitempty"`
}

// DomainInfo describes a domain in a report.
type DomainInfo struct {
	Name      string `json:"name"`
	Path      string `json:"path,omitempty"`
	Questions int    `json:"questions"`
	Of        int    `json:"of,omitempty"` // before a limit
	LeftOut   int    `json:"left_out,omitempty"`
	Expert    string `json:"expert,omitempty"` // its own
	// Weights are the mean weights that each fusion gave the sources.
	Weights map[string]map[string]float64 `json:"weights,omitempty"`
}

// Report is the result of an evaluation.
type Report struct {
	About
	Depth      int          `json:"depth"`
	Candidates int          `json:"candidates,omitempty"`
	Exact      bool         `json:"exact,omitempty"`
	Reference  string       `json:"reference,omitempty"`
	Methods    []Method     `json:"methods"`
	Domains    []DomainInfo `json:"domains"`
	Notes      []string     `json:"notes,omitempty"`
	Tables     []Table      `json:"tables"`
	// Asked are the measures that were asked for beside Metrics.
	Asked []Metric `json:"-"`
}

// countQuestions returns the number of questions of all domains.
func (r *Report) countQuestions() (n int) {
	for _, d := range r.Domains {
		n += d.Questions
	}
	return n
}

// Evaluate asks the engine the questions of all domains, each once for all methods, and returns the report. It fails if
// the options do not fit together, or if a question fails. It writes the run files of o.Runs and the figures of o.State
// after each domain, so that these are there after an error.
func Evaluate(ctx context.Context, engine Engine, domains []questions.Domain, o MeasureOptions) (*Report, error) {
	if o.Depth == 0 {
		o.Depth = 100
	}
	if o.Reference == "" {
		o.Reference = referenceOf(o.Methods)
	}
	if err := errors.Join(o.checkQuestions(domains), o.checkMetrics()); err != nil {
		return nil, err
	}
	for _, m := range o.Out {
		o.Notes = append(o.Notes, fmt.Sprintf("%s is left out: %s", m.Source, m.Reason))
	}
	var parts []*DomainResults
	for _, d := range domains {
		m, err := o.measureDomain(ctx, engine, d)
		if err != nil {
			if d.Name != "" {
				err = fmt.Errorf("domain %s: %w", d.Name, err)
			}
			return nil, err
		}
		parts = append(parts, m)
	}
	times, err := o.measureTimes(ctx, engine, domains)
	if err != nil {
		return nil, err
	}
	if !o.Exact {
		o.About.Experts = slices.Clone(o.About.Experts)
		note, err := measureRecall(ctx, engine, o.About.Experts, domains, o.Timeout)
		if err != nil {
			return nil, err
		}
		if note != "" {
			o.Notes = append(o.Notes, note)
		}
	}
	return o.newReport(domains, parts, times), nil
}

// checkQuestions returns an error if the options do not fit together or the questions of a domain have a faulty answer,
// so that this is known before anything is asked.
func (o *MeasureOptions) checkQuestions(domains []questions.Domain) error {
	if len(domains) == 0 {
		return errors.New("there are no questions to evaluate with")
	}
	if len(o.Methods) == 0 {
		return errors.New("there are no methods to evaluate")
	}
	for i, d := range domains {
		if slices.ContainsFunc(domains[:i], func(other questions.Domain) bool { return other.Name == d.Name }) {
			return fmt.Errorf("there are two sets of questions of domain %q", d.Name)
		}
		for n := range d.Questions { // a faulty answer is reported now and not after an hour
			if _, err := newJudge(&d.Questions[n], o.Patterns); err != nil {
				return err
			}
		}
	}
	if slices.ContainsFunc(o.Methods, func(m Method) bool { return m.Kind == KindOracle }) {
		return errors.New("oracles follow from the sources and are not asked for")
	}
	if err := checkDistinct(o.Methods); err != nil {
		return err
	}
	all := append(slices.Clone(o.Methods), oracleMethods(o.Methods)...)
	if o.Reference != "" && methodNamed(all, o.Reference) < 0 {
		return fmt.Errorf("the reference %q is not measured: %s", o.Reference, methodNames(all))
	}
	if o.Runs != nil {
		if err := o.Runs.checkRuns(domains, o.Methods); err != nil {
			return err
		}
	}
	if o.Otherwise != "" && !o.isMeasuredAlone(o.Otherwise) {
		return fmt.Errorf("expert %q, which is said to be that of domains without one, is not measured", o.Otherwise)
	}
	return nil
}

// isMeasuredAlone reports whether an expert is measured alone.
func (o *MeasureOptions) isMeasuredAlone(expert string) bool {
	return slices.ContainsFunc(
		o.Methods, func(m Method) bool { return m.Kind == KindSource && isExpert(m) && m.Source == expert },
	)
}

// ownExpert returns the expert of a domain: the one of its name if that is measured alone, otherwise o.Otherwise, which
// may be "".
func (o *MeasureOptions) ownExpert(domain string) string {
	if o.isMeasuredAlone(domain) {
		return domain
	}
	return o.Otherwise
}

// referenceOf returns the method that others are tested against where none was
// named: the default of the service, or else the first fusion.
func referenceOf(methods []Method) string {
	first := ""
	for _, m := range methods {
		if m.Name == search.MethodAuto {
			return m.Name
		}
		if first == "" && m.Kind != KindSource {
			first = m.Name
		}
	}
	return first
}

// methodNames returns the names of methods, separated by commas.
func methodNames(methods []Method) string {
	text := ""
	for i, m := range methods {
		if i > 0 {
			text += ", "
		}
		text += m.Name
	}
	return text
}

// measureDomain returns the outcomes of a domain's questions: those in the state if they were measured in the same way
// and the run files are there, otherwise new ones, which it keeps in the state. It fails if a question does, or a file
// cannot be written.
func (o *MeasureOptions) measureDomain(ctx context.Context, engine Engine, d questions.Domain) (*DomainResults, error) {
	stamp, err := stampOf(o.About, o.Methods, o.Depth, o.Candidates, o.Exact, o.Patterns, o.measureKeys(), d.Questions)
	if err != nil {
		return nil, err
	}
	if e, ok := o.State.findPart(domainPart(d.Name), stamp); ok && e.Measured != nil &&
		(o.Runs == nil || o.Runs.areComplete(d.Name, o.Methods)) {
		return e.Measured, nil
	}
	stage := d.Name
	if stage == "" {
		stage = "asking"
	}
	pass := pass{MeasureOptions: o, progress: func(done, total int) { o.reportProgress(stage, done, total) }}
	var runs *runWriter
	if o.Runs != nil {
		runs, err = o.Runs.openRuns(d.Name, o.Methods)
		if err != nil {
			return nil, err
		}
		pass.titles = slices.Contains(o.Runs.Forms, RunDPR)
		pass.answered = runs.add
	}
	m, err := measureQuestions(ctx, engine, d.Name, d.Questions, pass)
	if runs != nil {
		if err != nil {
			runs.removeFiles()
			return nil, err
		}
		err = runs.nameFiles()
	}
	if err != nil {
		return nil, err
	}
	return m, o.State.keepPart(stateEntry{Part: domainPart(d.Name), Stamp: stamp, Measured: m})
}

// reportProgress calls Progress, if it is set.
func (o *MeasureOptions) reportProgress(stage string, done, total int) {
	if o.Progress != nil {
		o.Progress(stage, done, total)
	}
}

// measureTimes returns how long single requests by each method take, from the state or by asking questions of all
// domains. It returns nil if no questions are to be timed. It fails if a request does, or the state cannot be written.
func (o *MeasureOptions) measureTimes(
	ctx context.Context, engine Engine, domains []questions.Domain,
) ([]Latency, error) {
	if o.Timed == 0 {
		return nil, nil
	}
	var asked []questions.Question
	for _, d := range domains {
		for _, q := range d.Questions {
			q.ID = d.Name + "/" + q.ID
			asked = append(asked, q)
		}
	}
	asked = questions.Sample(asked, o.Timed)
	stamp, err := stampOf(o.About, o.Methods, asked)
	if err != nil {
		return nil, err
	}
	if e, ok := o.State.findPart(timesPart, stamp); ok && len(e.Latency) == len(o.Methods) {
		return e.Latency, nil
	}
	times, err := timeRequests(
		ctx, engine, asked, o.Methods, o.Timeout,
		func(done, total int) { o.reportProgress("timing single requests", done, total) },
	)
	if err != nil {
		return nil, err
	}
	return times, o.State.keepPart(stateEntry{Part: timesPart, Stamp: stamp, Latency: times})
}

// newReport returns the report on the outcomes of the domains, which must not be empty, and on the times; nil: there
// are none. It panics if o.Reference names no method.
func (o *MeasureOptions) newReport(domains []questions.Domain, measured []*DomainResults, times []Latency) *Report {
	r := &Report{About: o.About, Depth: o.Depth, Candidates: o.Candidates, Exact: o.Exact, Notes: slices.Clone(o.Notes)}
	r.Methods = append(slices.Clone(o.Methods), oracleMethods(o.Methods)...)
	r.Asked = o.Metrics
	s := tableBuilder{methods: r.Methods, metrics: r.Columns(), reference: -1, depth: o.Depth}
	if o.Reference != "" {
		s.reference = methodNamed(r.Methods, o.Reference)
		r.Reference = r.Methods[s.reference].Name
	}
	for name, meant := range measured[0].Meant {
		r.Notes = append(r.Notes, fmt.Sprintf("%s stands for %s here", name, meant))
	}
	for i, m := range measured {
		s.parts = append(s.parts, part{m, withOracles(m, o.Methods, o.ownExpert(m.Domain))})
		d := DomainInfo{
			Name:      domains[i].Name,
			Path:      domains[i].Path,
			Questions: len(m.Questions),
			LeftOut:   domains[i].LeftOut,
			Expert:    o.ownExpert(m.Domain),
			Weights:   map[string]map[string]float64{},
		}
		if domains[i].Of > len(m.Questions) {
			d.Of = domains[i].Of
		}
		for n, method := range o.Methods {
			if len(m.Weights[n]) > 0 {
				d.Weights[method.Name] = m.Weights[n]
			}
		}
		r.Domains = append(r.Domains, d)
		if n := len(m.BadPatterns); n > 0 {
			r.Notes = append(
				r.Notes,
				domainNote(m.Domain, "%d answers are no regular expression and match nothing, such as %q", n, m.BadPatterns[0]),
			)
		}
		if n := m.countUnanswerable(); n > 0 {
			r.Notes = append(
				r.Notes, domainNote(d.Name, "%d questions that nothing answers count for the confidences alone", n),
			)
		}
		if d.LeftOut > 0 {
			r.Notes = append(r.Notes, domainNote(d.Name, "%d questions without a relevant passage are left out", d.LeftOut))
		}
	}
	r.Tables = s.allTables()
	for i := range times {
		r.Tables[0].Rows[i].Latency = &times[i]
	}
	return r
}

// domainNote returns a formatted note with the domain's name before it, or without it if the name is "", as of a file
// of questions that names no domain.
func domainNote(name, format string, args ...any) string {
	note := fmt.Sprintf(format, args...)
	if name == "" {
		return note
	}
	return name + ": " + note
}
