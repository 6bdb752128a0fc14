// Package jobs runs long work on a collection that is served: snapshots,
// experts that come and go, passages that go by their tags. One job runs at a
// time, in the order in which they were asked for.
//
// The jobs are in a Register: a folder's is files in it, written before the caller hears that
// the job was accepted; a store's is beside it, and any server in front of it accepts jobs and
// works on the one that is next. A job that a restart or the death of its server interrupted
// is begun again, and its work has to bear that.
package jobs

import (
	"fmt"
	"time"

	"example.org/conclave/internal/conditions"
)

// State is how far a job is.
type State string

// The states. The last three are final.
const (
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Count returns the number of jobs in each state. Every state has an entry, if only 0.
func Count(all []Job) map[State]int {
	counts := map[State]int{Queued: 0, Running: 0, Done: 0, Failed: 0, Cancelled: 0}
	for _, j := range all {
		counts[j.State]++
	}
	return counts
}

// Ended reports whether a job in this state is over.
func (s State) Ended() bool { return s == Done || s == Failed || s == Cancelled }

// The kinds of job that a server has.
const (
	Snapshot     = "snapshot"
	AddExpert    = "add_expert"
	RemoveExpert = "remove_expert"
	DeleteTagged = "delete_passages"
	AddDocuments = "add_documents"
	ReadSite     = "read_site"
	Calibrate    = "calibrate"
	Evaluate     = "evaluate"
)

// Request is what a job is asked to do.
type Request struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`            // of the expert or the snapshot; the tags, ids or condition as a query string
	Index string `json:"index,omitempty"` // kind of vector index, for an expert that is added
	// The passages to delete have one of IDs, or, where there are none, every tag of TagsAll and at least one of
	// TagsAny, and meet Filter; an empty list, or no filter, asks for nothing.
	TagsAll []string `json:"tags_all,omitempty"`
	TagsAny []string `json:"tags_any,omitempty"`
	IDs     []string `json:"ids,omitempty"`
	// Filter is what the passages to delete meet, beside tags.
	Filter *conditions.Condition `json:"filter,omitempty"`
	// Documents that are added get Prefix before the names of their files, and Tags. Texts among the files have this
	// Encoding, if it is named.
	Prefix   string   `json:"prefix,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Encoding string   `json:"encoding,omitempty"`
	// Site says which page or site is read.
	Site *SiteRequest `json:"site,omitempty"`
	// DryRun lets a calibration be reported and not be used.
	DryRun bool `json:"dry_run,omitempty"`
	// Alone lets an evaluation measure each source alone, too.
	Alone bool `json:"alone,omitempty"`
}

// SiteRequest is a page, or a whole site, whose pages become documents.
type SiteRequest struct {
	URL   string `json:"url"`
	Whole bool   `json:"whole,omitempty"` // all pages of the site below URL, and not that one alone
	// Patterns of the paths that are read, and that are not.
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	Depth   int      `json:"depth,omitempty"` // most links from URL to a page; 0: as many as the server allows
	Pages   int      `json:"pages,omitempty"` // most pages; 0: as many as the server allows
}

// Progress says how far the work is. Done and Total count the same unit; Total
// is -1 while it is not known.
type Progress struct {
	Stage string `json:"stage"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
	Unit  string `json:"unit"`
	// Note says for people why the work waits, such as for a site that is busy; "": it does not.
	Note string `json:"note,omitempty"`
}

// Result is what a job has made.
type Result struct {
	Generation uint64             `json:"generation,omitempty"` // of the collection, with what the job did
	Passages   int                `json:"passages,omitempty"`
	Deleted    *int               `json:"deleted,omitempty"` // how many passages; nil for other jobs
	Bytes      int64              `json:"bytes,omitempty"`   // of the new files, or shared with the snapshot
	Folder     string             `json:"folder,omitempty"`  // of a snapshot
	Recall     map[string]float64 `json:"recall,omitempty"`  // of the new index against exact search
	Warnings   []string           `json:"warnings,omitempty"`
	// Documents says what became of the files of an upload.
	Documents *DocumentsResult `json:"documents,omitempty"`
	// Measured says what was found with the judged questions.
	Measured *MeasuredResult `json:"measured,omitempty"`
}

// MeasuredResult says how often the judged questions are answered.
type MeasuredResult struct {
	Questions int `json:"questions"`
	// Now is how the collection answers them as it is, and Calibrated as it would: each question by
	// what was fitted on others. Nil: nothing was fitted.
	Now        Share  `json:"now"`
	Calibrated *Share `json:"calibrated,omitempty"`
	Written    bool   `json:"written"` // the calibration is in use
	// Missed are questions of which another passage than one that was judged to answer comes first;
	// the first hundred.
	Missed []string `json:"missed,omitempty"`
	Report string   `json:"report"` // for people, in lines
}

// Share counts questions of which a passage that answers is among the first.
type Share struct {
	Top1  int `json:"top1"`
	Top5  int `json:"top5"`
	Top20 int `json:"top20"`
}

// DocumentsResult counts documents.
type DocumentsResult struct {
	Added     int `json:"added"`
	Replaced  int `json:"replaced"`
	Unchanged int `json:"unchanged"`
	Removed   int `json:"removed,omitempty"` // whose pages are gone from a site
	Failed    int `json:"failed"`
	// Failures are files that were not read; the first thousand.
	Failures []DocumentFailure `json:"failures,omitempty"`
	// Left says what was left out of a site.
	Left []LeftOut `json:"left,omitempty"`
}

// LeftOut counts addresses of a site that were left out for one reason.
type LeftOut struct {
	Reason   string   `json:"reason"`
	Count    int      `json:"count"`
	Examples []string `json:"examples,omitempty"`
}

// DocumentFailure says why a file was not read.
type DocumentFailure struct {
	ID     string `json:"id"`
	Reason string `json:"reason,omitempty"` // documents.Reason
	Detail string `json:"detail"`
}

// Job is one piece of work as it stands.
type Job struct {
	ID string `json:"id"`
	Request
	State    State      `json:"state"`
	Created  time.Time  `json:"created"`
	Begun    *time.Time `json:"begun,omitempty"` // the last time
	Ended    *time.Time `json:"ended,omitempty"`
	Attempts int        `json:"attempts"` // how often it was begun: again after each restart
	Progress *Progress  `json:"progress,omitempty"`
	Result   *Result    `json:"result,omitempty"`
	Error    string     `json:"error,omitempty"`
}

// Refusal is the error of a request that cannot become a job. Code is stable
// and in snake case.
type Refusal struct{ Code, Detail string }

// Error returns Detail, without the code.
func (r *Refusal) Error() string { return r.Detail }

// Refuse returns a *Refusal with a code and a formatted detail.
func Refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Detail: fmt.Sprintf(format, args...)}
}
