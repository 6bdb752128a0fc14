package handlers

import (
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

func idParameter() *huma.Param {
	return &huma.Param{Name: "id", In: "path", Required: true, Description: "The passage's id, percent-encoded; slashes may be written as they are.", Schema: &schema{Type: huma.TypeString}}
}

func headerParameter(name, text string) *huma.Param {
	return &huma.Param{Name: name, In: "header", Description: text, Schema: &schema{Type: huma.TypeString}}
}

func refreshParameter() *huma.Param {
	return &huma.Param{Name: "refresh", In: "query", Description: "wait: answer when searches see what was written, and hasten that.",
		Schema: &schema{Type: huma.TypeString, Enum: []any{"wait", "none"}, Default: "none"}}
}

func backlogHeaders() map[string]*huma.Param {
	return map[string]*huma.Param{
		backlogHeader: {Description: "How many changes are stored that searches do not see yet.", Schema: &schema{Type: huma.TypeInteger}},
	}
}

func etagHeaders() map[string]*huma.Param {
	h := backlogHeaders()
	h["ETag"] = &huma.Param{Description: "The passage's version.", Schema: &schema{Type: huma.TypeString}}
	return h
}

func describeUpload(huma.Registry) described {
	together := described{
		tag: "write", summary: "Many passages",
		description: "One passage a line, as `PUT` takes it, with its id; or one JSON list of them, as application/json; both also with `Content-Encoding: gzip`. Lines are read as `conclave index` reads them: `_id` stands for id, `contents` for title and text, null is as good as absent, and fields that are not known are left out and told once each, as `unknown_fields` of the line that has them first; with `strict=true` they are mistakes. The answer has a line for each line that is not blank, in their order: `status` is created, replaced, unchanged or rejected, and a rejected one says why under `error`; a bad line never stops the good ones. A line that is answered otherwise would survive a power cut, and searches see it a moment later, once every expert has encoded it.\n\n" +
			"The answer's lines wait until the body has ended, since many clients send everything before they read. With `stream=true` each comes as soon as it is true, and the client has to read while it sends. Where an upload ends before its body does, the last line is a problem whose `line` is the first that was not answered; when no line was answered, that problem is the whole answer. When every line was rejected, the status is 422, with the same lines (200 where it was sent before, with `stream=true`).",
		parameters: []*huma.Param{
			refreshParameter(),
			{Name: "strict", In: "query", Description: "true: a field that is not known rejects its line.", Schema: &schema{Type: huma.TypeBoolean, Default: false}},
			{Name: "stream", In: "query", Description: "true: answer line by line while the body comes in.", Schema: &schema{Type: huma.TypeBoolean, Default: false}},
		},
		request: &huma.MediaType{Schema: &schema{Ref: schemaRef("PassageRequest")},
			Example: "{\"id\":\"note/1\",\"title\":\"Bees\",\"text\":\"Bees find their way back to the hive by the sun.\"}\n{\"id\":\"note/2\",\"text\":\"A fox asked the moon to come down.\",\"tags\":[\"tale\"]}\n"},
		content: map[string]*huma.MediaType{typeLines: {Schema: &schema{OneOf: []*schema{{Ref: schemaRef("UploadLine")}, {Ref: schemaRef("UploadProblem")}}}}},
		headers: backlogHeaders(), errors: []int{503, 507},
	}
	return together
}

func describePut(huma.Registry) described {
	return described{
		tag: "write", summary: "Create or replace a passage",
		description: "When it answers, the passage would survive a power cut, and `GET` gives it; searches see it a moment later.",
		parameters: []*huma.Param{
			idParameter(),
			headerParameter("If-Match", "The version that the stored passage has to have, or * for any: so that nobody's change in between is lost."),
			headerParameter("If-None-Match", "*: only create, do not replace."),
			refreshParameter(),
		},
		request: &huma.MediaType{Schema: &schema{Ref: schemaRef("PassageRequest")},
			Example: map[string]any{"title": "Bees", "text": "Bees find their way back to the hive by the sun and by landmarks.", "tags": []any{"nature"}, "metadata": map[string]any{"year": 2020}}},
		content: inJSON("WriteResult"), created: true, headers: etagHeaders(), errors: []int{412, 503, 507},
	}
}

func describeDelete(huma.Registry) described {
	return described{
		tag: "write", summary: "Delete a passage",
		description: "When it answers, the passage stays deleted through a power cut; searches lose sight of it a moment later.",
		parameters: []*huma.Param{
			idParameter(),
			headerParameter("If-Match", "The version that the stored passage has to have."),
			refreshParameter(),
		},
		content: inJSON("WriteResult"), headers: backlogHeaders(), errors: []int{404, 412, 503, 507},
	}
}

func describeDeleteTagged(registry huma.Registry) described {
	d := described{
		tag: "write", summary: "Delete the passages that have tags",
		description: "Deletes the passages that a search with this filter may find when the job begins: what was acknowledged before is among them; a passage that is replaced while the job works stays. One of the two lists has to be given, and neither may be empty, so that nobody deletes more than was meant. A tag with a comma in it cannot be named. It is a job: follow it at its Location. One that is interrupted begins again, with what has the tags then; one that is cancelled leaves deleted what it has deleted. When it is done, searches do not find the passages any more.",
		content:     inJSON("Job"), accepted: true, headers: locationHeaders(), errors: []int{409, 503, 507},
	}
	lists := filterFields(registry, searchSchema(registry))
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		property, of := *lists[name], map[string]string{"tags_all": "every one", "tags_any": "at least one"}[name]
		property.Description = ""
		d.parameters = append(d.parameters, describeParameter(name, "Passages that have "+of+" of these tags. With both lists, a passage has to satisfy both.", property))
	}
	return d
}

func locationHeaders() map[string]*huma.Param {
	return map[string]*huma.Param{"Location": {Description: "Where to follow the job.", Schema: &schema{Type: huma.TypeString}}}
}

func describeSnapshot(huma.Registry) described {
	return described{
		tag: "administer", summary: "Make a snapshot",
		description: "Makes what was acknowledged visible, and a copy of the collection by hard links, which takes no space until the original drops the files. To restore a snapshot is to serve it. It is a job: follow it at its Location.",
		request:     &huma.MediaType{Schema: &schema{Ref: schemaRef("SnapshotRequest")}, Example: map[string]any{"name": "monday"}},
		content:     inJSON("Job"), accepted: true, headers: locationHeaders(), errors: []int{409, 503, 507},
	}
}

func describeSnapshots(huma.Registry) described {
	return described{tag: "administer", summary: "The snapshots", description: "Those in the server's folder of snapshots, by name.",
		content: inJSON("SnapshotList"), errors: []int{403, 503}}
}

func describeRemoveSnapshot(huma.Registry) described {
	return described{
		tag: "administer", summary: "Remove a snapshot",
		description: "Removes its folder. Do not remove one that another server serves.",
		parameters:  []*huma.Param{{Name: "name", In: "path", Required: true, Description: "The snapshot's name.", Schema: &schema{Type: huma.TypeString}}},
		removed:     true, errors: []int{404, 409, 503},
	}
}

func describeAddExpert(huma.Registry) described {
	return described{
		tag: "administer", summary: "Add an expert",
		description: "Encodes all passages with another expert, in the background: searches and writes go on, questions come first. Then the expert joins the searches. The job goes on where it was after a restart.",
		request:     &huma.MediaType{Schema: &schema{Ref: schemaRef("ExpertRequest")}, Example: map[string]any{"name": "health"}},
		content:     inJSON("Job"), accepted: true, headers: locationHeaders(), errors: []int{409, 503, 507},
	}
}

func describeRemoveExpert(huma.Registry) described {
	return described{
		tag: "administer", summary: "Remove an expert",
		description: "Takes the expert out of the searches, and its vectors out of the collection.",
		parameters:  []*huma.Param{{Name: "name", In: "path", Required: true, Description: "The expert's name.", Schema: &schema{Type: huma.TypeString}}},
		content:     inJSON("Job"), accepted: true, headers: locationHeaders(), errors: []int{404, 409, 503, 507},
	}
}

func jobParameter() *huma.Param {
	return &huma.Param{Name: "id", In: "path", Required: true, Description: "The job's id.", Schema: &schema{Type: huma.TypeString}}
}

func describeJobs(huma.Registry) described {
	return described{tag: "administer", summary: "The jobs", description: "The newest first; the last hundred that ended are remembered.",
		content: inJSON("JobList"), errors: []int{503}}
}

func describeJob(huma.Registry) described {
	return described{tag: "administer", summary: "One job", description: "Its state is queued, running, done, failed or cancelled.",
		parameters: []*huma.Param{jobParameter()}, content: inJSON("Job"), errors: []int{404, 503}}
}

func describeCancel(huma.Registry) described {
	return described{tag: "administer", summary: "Cancel a job", description: "One that runs ends in a moment; the answer is how it stands now.",
		parameters: []*huma.Param{jobParameter()}, content: inJSON("Job"), errors: []int{404, 409, 503, 507}}
}

// writingTexts says what the fields of the answers to writes mean.
func writingTexts() map[string]map[string]string {
	return map[string]map[string]string{
		"WriteResult": {
			"id":      "The passage's id.",
			"status":  "created, replaced, unchanged or deleted.",
			"version": "The passage's version, which is its ETag.",
		},
		"UploadLine": {
			"line":           "The number of the line, from 1.",
			"id":             "The passage's id; empty where the line does not tell.",
			"status":         "created, replaced, unchanged or rejected.",
			"version":        "The passage's version, which is its ETag.",
			"error":          "Why it was rejected.",
			"unknown_fields": "Fields that are not known and that no line before had; they were left out.",
		},
		"UploadProblem": {
			"line":       "The first line that was not answered. Send the upload again from there.",
			"type":       "The address of the problem's description.",
			"title":      "The kind of problem in words.",
			"status":     "The HTTP status that it would have been.",
			"detail":     "What was wrong, and what is allowed.",
			"code":       "The kind of problem, for programs; it is stable.",
			"request_id": "The request's id in the log.",
			"errors":     "The parts of the request that are wrong.",
			"components": "The parts of the server, where it is not ready.",
		},
		"Job": {
			"id":       "Its id.",
			"kind":     "snapshot, add_expert, remove_expert or delete_passages.",
			"name":     "Of the snapshot or the expert; of passages to delete, their tags as a query string.",
			"tags_all": "The tags that every passage to delete has.",
			"tags_any": "The tags of which every passage to delete has one.",
			"index":    "The kind of vector index, for an expert that is added.",
			"state":    "queued, running, done, failed or cancelled.",
			"created":  "When it was asked for.",
			"begun":    "When it was begun, the last time.",
			"ended":    "When it ended.",
			"attempts": "How often it was begun: once more after each restart.",
			"progress": "How far it is, while it runs.",
			"result":   "What it made, when it is done.",
			"error":    "Why it failed.",
		},
		"JobProgress": {
			"stage": "What it is at.",
			"done":  "How much of it is done.",
			"total": "How much there is; -1 while that is not known.",
			"unit":  "What is counted.",
		},
		"JobResult": {
			"generation": "The generation of the collection with what the job did.",
			"passages":   "How many passages are concerned.",
			"deleted":    "How many passages were deleted, by all attempts together.",
			"bytes":      "Of the new files, or shared with the snapshot.",
			"folder":     "Where the snapshot lies, on the server.",
			"recall":     "How much of the exact search the new index finds.",
			"warnings":   "What should be seen to.",
		},
		"SnapshotList": {"snapshots": "The snapshots, by name."},
		"SnapshotInfo": {
			"name":       "Its name.",
			"created":    "When it was made.",
			"generation": "The generation of the collection that it holds.",
			"passages":   "How many passages it has.",
		},
		"JobList": {"jobs": "The jobs, the newest first."},
		"Backlog": {
			"changes":   "Changes that are stored and that searches do not see yet.",
			"oldest_ms": "How long the oldest of them has waited, in milliseconds.",
			"log_bytes": "Bytes in the log of changes.",
			"segments":  "Segments of the collection.",
		},
	}
}
