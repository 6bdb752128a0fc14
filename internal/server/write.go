package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/internal/asked"
	"example.org/conclave/internal/assembly"
	"example.org/conclave/internal/conditions"
	"example.org/conclave/internal/disk"
	"example.org/conclave/internal/experts"
	"example.org/conclave/internal/jobs"
	"example.org/conclave/internal/judgments"
	"example.org/conclave/search"
	"example.org/conclave/store"
)

// openWriter opens the store for writing, with all encoders, and sets s.writer, which refuses passages above the
// collection's quotas or with fields of other types than declared, and tells the languages of the others. It fails if
// another process writes, the settings cannot be read, or an encoder's vectors are not those of the collection.
func (s *collection) openWriter(ctx context.Context) (err error) {
	a, in := s.assembly, s.config.Ingest
	contents, done := a.Store.Contents()
	stored := contents.Experts()
	done()
	s.writer, err = a.Store.Write(ctx, store.WriteOptions{
		Encoders: a.Encoders(stored), Shared: experts.SharedPasses(a.Experts.Searched), Threads: in.Threads,
		FlushAfter: in.FlushAfter, FlushPassages: in.FlushPassages, Backlog: in.Backlog,
		Failed: func(err error) { s.log.Error("indexing what was written failed, and is tried again", "cause", err) },
	})
	if err == nil && (s.quotas.Passages > 0 || s.quotas.Bytes > 0) {
		count := func(ctx context.Context) (passages int, err error) {
			_, passages, err = a.Store.Count(ctx)
			return passages, err
		}
		q := &quotaWriter{Writer: s.writer, quotas: s.quotas, bytes: s.usedBytes, count: count}
		q.counted, err = count(ctx)
		s.writer = q
	}
	if err != nil {
		return err
	}
	said, err := settings{s}.Settings()
	if err != nil {
		return err
	}
	s.writer = &tellingWriter{s.writer, said.Languages, func() *search.Engine { return a.Engine }}
	s.writer = &typedWriter{s.writer, func() conditions.Types { return a.Engine.Defaults().Fields }}
	return nil
}

// usedBytes returns how many bytes the collection takes: its segments, if the store measures them, and its copies of
// files.
func (s *collection) usedBytes() int64 {
	has := int64(0)
	if s.originals != nil {
		has = s.originals.Bytes()
	}
	for _, m := range s.assembly.Store.Meters() {
		if m.Name == store.BytesMeter {
			has += int64(m.Value())
		}
	}
	return has
}

// acceptWrites opens the judgments, unanswered questions, copies of files and jobs, and lets the API accept writes
// and jobs. It returns the queue of the jobs, which the caller has to run. s.writer must be set. It fails if the
// judgments, copies or jobs cannot be opened.
func (s *collection) acceptWrites() (worker, error) {
	kinds := map[string]jobs.Handler{
		jobs.Snapshot: s.handlerIf(jobs.Handler{Check: s.checkSnapshot, Work: s.makeSnapshot}, func() error {
			_, err := s.writer.Snapshots()
			return err
		}),
		jobs.AddExpert:    s.handlerIf(jobs.Handler{Check: s.checkAdding, Work: s.addExpert}, s.checkExpertsChange),
		jobs.RemoveExpert: s.handlerIf(jobs.Handler{Check: s.checkRemoving, Work: s.removeExpert}, s.checkExpertsChange),
		jobs.DeleteTagged: s.handlerIf(jobs.Handler{Work: s.deleteTagged}, nil),
	}
	dir := s.assembly.Store.JobsFolder()
	if err := s.keepJudgments(dir); err != nil {
		return nil, err
	}
	unanswered, answered := s.config.Unanswered, s.config.Answered
	s.unanswered = openQuestions(dir, asked.UnansweredFile, unanswered.Keep, unanswered.Age, s.tellUnanswered)
	if s.unanswered != nil {
		s.api.AttachUnanswered(s.unanswered)
	}
	s.answered = openQuestions(dir, asked.AnsweredFile, answered.Keep, answered.Age, s.tellAnswered)
	if s.answered != nil {
		s.api.AttachAnswered(s.answered, answered.Askers)
	}
	if err := s.openOriginals(); err != nil {
		return nil, err
	}
	kinds[jobs.Calibrate] = s.handlerIf(
		jobs.Handler{Check: s.checkCalibrating, Work: s.runCalibration}, s.checkJudgmentsKept,
	)
	kinds[jobs.Evaluate] = s.handlerIf(jobs.Handler{Check: s.checkEvaluating, Work: s.runEvaluation}, s.checkJudgmentsKept)
	var inputs jobs.Inputs = s.assembly.Store.JobInputs()
	if dir != "" {
		inputs = jobs.NewFolderInputs(dir, handlers.UploadPrefix)
	}
	kinds[jobs.ReadSite] = s.handlerIf(jobs.Handler{Work: s.readSite}, nil)
	kinds[jobs.AddDocuments] = s.handlerIf(jobs.Handler{Work: s.addDocuments(inputs)}, nil)
	queue, err := s.openJobs(dir, jobs.QueueOptions{Logger: s.log, Kinds: kinds, Inputs: inputs})
	if err != nil {
		return nil, err
	}
	s.tellWritable()
	s.keepDocuments(s.writer, inputs)
	s.jobs = queue
	s.api.AttachWriter(s.writer, queue, s.snapshotList())
	return queue, nil
}

// keepJudgments opens the file of judgments in the collection's folder, the parent of jobsFolder, sets s.judgments,
// and gives it to the API. Damaged lines are logged, shown in /readyz, and no error. It does nothing if jobsFolder is
// "", for a collection in a cluster.
func (s *collection) keepJudgments(jobsFolder string) error {
	if jobsFolder == "" {
		return nil
	}
	path := filepath.Join(filepath.Dir(jobsFolder), judgments.FileName)
	file, damaged, err := judgments.Open(disk.OS{}, path)
	if err != nil {
		return err
	}
	if len(damaged) > 0 {
		s.log.Warn("lines of the judgments are damaged and passed over", "file", path, "lines", damaged)
		s.api.Readiness().Set(schema.Component{Name: "judgments", Status: handlers.Ready, Warnings: []string{
			fmt.Sprintf("%s has lines that are no judgments, which are passed over: %v", judgments.FileName, damaged),
		}})
	}
	s.judgments = file
	s.api.AttachJudgments(file)
	return nil
}

// openQuestions opens a file of questions in the collection's folder, the parent of jobsFolder: at most keep, which
// were asked within age. It returns nil if keep is 0. If the file cannot be opened, or jobsFolder is "", it calls tell
// with the reason and returns nil.
func openQuestions(jobsFolder, name string, keep int, age time.Duration, tell func(error)) *asked.Log {
	if keep == 0 {
		return nil
	}
	if jobsFolder == "" {
		tell(errors.New("the passages are in a store, which keeps no questions: keep has no effect"))
		return nil
	}
	log, err := asked.Open(disk.OS{}, filepath.Join(filepath.Dir(jobsFolder), name), keep, age)
	if err != nil {
		tell(err)
		return nil
	}
	return log
}

// tellUnanswered shows in /readyz, and logs, why unanswered questions are not kept. With nil it shows that they are.
func (s *collection) tellUnanswered(err error) { s.tellQuestions("unanswered questions", err) }

// tellAnswered shows in /readyz, and logs, why answered questions are not kept. With nil it shows that they are.
func (s *collection) tellAnswered(err error) { s.tellQuestions("answered questions", err) }

// tellQuestions shows in /readyz, and logs, why questions of a name are not kept. With nil it shows that they are.
func (s *collection) tellQuestions(name string, err error) {
	c := schema.Component{Name: name, Status: handlers.Ready}
	if err != nil {
		s.log.Warn(name+" are not kept", "error", err)
		c.Warnings = []string{err.Error()}
	}
	s.api.Readiness().Set(c)
}

// checkJudgmentsKept returns a *store.ElsewhereError if the collection is in a cluster, where judgments cannot be kept.
func (s *collection) checkJudgmentsKept() error {
	if s.judgments == nil {
		return &store.ElsewhereError{
			Instead: "judgments are kept only for collections in folders, and these passages are in a store",
		}
	}
	return nil
}

// checkExpertsChange returns an error if the store cannot change its experts while it is served; nil if it can.
func (s *collection) checkExpertsChange() error {
	_, err := s.writer.Experts()
	return err
}

// handlerIf returns h, with paths removed from its errors, if can is nil or returns nil. Otherwise it returns a handler
// that refuses every request with can's error: the store cannot do jobs of this kind.
func (s *collection) handlerIf(h jobs.Handler, can func() error) jobs.Handler {
	if can != nil {
		if err := can(); err != nil {
			return jobs.Handler{Check: func(jobs.Request) error { return jobs.Refuse("no_such_path", "%v", err) }}
		}
	}
	h.Work = s.withoutPaths(h.Work)
	return h
}

// openJobs returns the queue of the jobs in the folder dir, or, if dir is "", of those that all servers of the
// cluster share. It runs none yet. Damaged records are shown in /readyz; an unreadable folder is an error.
func (s *collection) openJobs(dir string, o jobs.QueueOptions) (*jobs.Queue, error) {
	if dir == "" {
		return jobs.NewQueue(jobs.NewShared(s.assembly.Store.JobRegisters()), o), nil
	}
	opened, err := jobs.OpenFolder(disk.OS{}, dir, s.log)
	if err != nil {
		return nil, err
	}
	if damaged := opened.Damaged(); len(damaged) > 0 {
		component := schema.Component{Name: "jobs", Status: handlers.Ready}
		for _, path := range damaged {
			component.Warnings = append(
				component.Warnings,
				fmt.Sprintf(
					"the record %s is damaged and its job is not done: ask for it again, and remove the file",
					filepath.Base(path),
				),
			)
		}
		s.api.Readiness().Set(component)
	}
	return jobs.NewQueue(opened, o), nil
}

// withoutPaths returns a function that does work and replaces its error by one without this machine's paths, since
// clients see it. The log gets the whole error, unless ctx has ended.
func (s *collection) withoutPaths(
	work func(context.Context, jobs.Task) (jobs.Result, error),
) func(context.Context, jobs.Task) (jobs.Result, error) {
	return func(ctx context.Context, t jobs.Task) (jobs.Result, error) {
		result, err := work(ctx, t)
		if err != nil && ctx.Err() == nil {
			s.log.Error("a job failed", "job", t.ID, "kind", t.Kind, "name", t.Name, "cause", err)
			err = errors.New(handlers.WithoutPaths(err.Error()))
		}
		return result, err
	}
}

// tellWritable lets the API accept passages, or refuse them with the reason if the encoder of an expert that has
// vectors of its own is absent: each passage needs vectors of all experts. Deleting stays possible.
func (s *collection) tellWritable() {
	needed := slices.DeleteFunc(
		slices.Clone(s.assembly.Absent),
		func(x assembly.Absent) bool { return s.assembly.Experts.OwnerOf(x.Name) != "" },
	)
	if len(needed) == 0 {
		s.api.RefusePassages("")
		return
	}
	why := "No passage can be written, since it needs vectors of every expert of the collection:"
	for _, x := range needed {
		why += fmt.Sprintf(" the bundle of expert %s cannot be used (%s).", x.Name, handlers.WithoutPaths(x.Cause.Error()))
	}
	s.api.RefusePassages(
		why + " Mend it and start the server again, or take the expert out (DELETE /v1/admin/experts/" + needed[0].Name + "). Passages can be deleted all the same.",
	)
}
