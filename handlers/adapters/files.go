package adapters

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"

	"example.org/conclave/handlers"
	"example.org/conclave/handlers/front"
	"example.org/conclave/handlers/schema"
	"example.org/conclave/search"
	"example.org/conclave/search/fault"
	"example.org/conclave/search/lookup"
)

// OpenAI's files and those of a vector store are the documents of the collection: what is
// uploaded is a document at once, whose id is its file name, and adding it to the store
// gives it attributes. A file's id is the document's, written without slashes.

const filePrefix = "file-"

// fileID returns the id of a document as OpenAI's id of a file.
func fileID(document string) string {
	return filePrefix + base64.RawURLEncoding.EncodeToString([]byte(document))
}

// documentOf returns the document's id for OpenAI's id of a file, or a problem if it is not one.
func documentOf(file string) (string, error) {
	name, ok := strings.CutPrefix(file, filePrefix)
	id, err := base64.RawURLEncoding.DecodeString(name)
	if !ok || err != nil {
		return "", &fault.Error{Kind: fault.NotFound, Code: "unknown_document", Detail: "there is no file " + file}
	}
	return string(id), nil
}

// storeFiles returns the routes of OpenAI's files and of the files of vector stores. Those that read need the scope
// search, the others ingest. totals has the numbers of files of a vector store.
func storeFiles(totals *countedFiles) []handlers.Adapter {
	const one, many = "/v1/vector_stores/{collection}/files/{file}", "/v1/vector_stores/{collection}/files"
	route := func(
		method, path string, cost front.Cost, do func(*http.Request, handlers.DocumentKeeper) (any, error),
	) handlers.Adapter {
		scope := schema.ScopeSearch
		if method != http.MethodGet {
			scope = schema.ScopeIngest
		}
		return handlers.Adapter{
			Method: method, Path: path, Scope: scope, Cost: cost, Refusal: openAIError("file_id"), Choose: collectionInPath,
			Serve: func(r *http.Request, admitted handlers.AdmittedEngine) (answer handlers.Answer, err error) {
				e, ok := admitted.(handlers.DocumentKeeper)
				if !ok {
					return answer, fieldError("no_such_path", "", "documents are not kept here")
				}
				answer.Value, err = do(r, e)
				return answer, err
			},
		}
	}
	reading := front.Answering(0)
	writing := front.Storing()
	upload := route(http.MethodPost, "/v1/files", writing, uploadFile)
	upload.Files = true
	return []handlers.Adapter{
		upload,
		route(http.MethodGet, "/v1/files", reading, func(r *http.Request, e handlers.DocumentKeeper) (any, error) {
			return listFiles(r, e, func(d handlers.KeptDocument) any { return fileOf(d) })
		}),
		route(http.MethodGet, "/v1/files/{file}", reading, func(r *http.Request, e handlers.DocumentKeeper) (any, error) {
			d, err := namedFile(r, e, false)
			return fileOf(d), err
		}),
		route(http.MethodDelete, "/v1/files/{file}", writing, deleteFile("file")),
		route(http.MethodGet, "/v1/vector_stores/{collection}", reading,
			func(r *http.Request, e handlers.DocumentKeeper) (any, error) {
				files, err := totals.countFor(r.Context(), e)
				return storeOf(e.Collection(), files), err
			}),
		route(http.MethodPost, many, writing, func(r *http.Request, e handlers.DocumentKeeper) (any, error) {
			return addFile(r, e, e.Collection())
		}),
		route(http.MethodGet, many, reading, func(r *http.Request, e handlers.DocumentKeeper) (any, error) {
			return listFiles(r, e, func(d handlers.KeptDocument) any { return storeFileOf(e.Collection(), d) })
		}),
		route(http.MethodGet, one, reading, func(r *http.Request, e handlers.DocumentKeeper) (any, error) {
			d, err := namedFile(r, e, false)
			return storeFileOf(e.Collection(), d), err
		}),
		route(http.MethodPost, one, writing, func(r *http.Request, e handlers.DocumentKeeper) (any, error) {
			return amendFile(r, e, e.Collection(), r.PathValue("file"))
		}),
		route(http.MethodGet, one+"/content", reading, storeFileContent),
		route(http.MethodDelete, one, writing, deleteFile("vector_store.file.deleted")),
	}
}

type fileObject struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	Bytes     int    `json:"bytes"`
	CreatedAt int64  `json:"created_at"`
	Filename  string `json:"filename"`
	Purpose   string `json:"purpose"`
	Status    string `json:"status"`
}

// fileOf returns a document as OpenAI's file object.
func fileOf(d handlers.KeptDocument) fileObject {
	return fileObject{fileID(d.ID), "file", d.Bytes, d.Modified.Unix(), d.ID, "assistants", "processed"}
}

type storeFile struct {
	ID            string         `json:"id"`
	Object        string         `json:"object"`
	UsageBytes    int            `json:"usage_bytes"`
	CreatedAt     int64          `json:"created_at"`
	VectorStoreID string         `json:"vector_store_id"`
	Status        string         `json:"status"`
	LastError     any            `json:"last_error"`
	Attributes    map[string]any `json:"attributes"`
}

// storeFileOf returns a document as OpenAI's file of a vector store. Its attributes are the file name, the document's
// metadata, and the tags with commas between them.
func storeFileOf(collection string, d handlers.KeptDocument) storeFile {
	attributes := map[string]any{"filename": d.ID}
	maps.Copy(attributes, d.Metadata)
	if len(d.Tags) > 0 {
		attributes[tagsKey] = strings.Join(d.Tags, ",")
	}
	return storeFile{
		ID: fileID(d.ID), Object: "vector_store.file", UsageBytes: d.Bytes, CreatedAt: d.Modified.Unix(),
		VectorStoreID: collection, Status: "completed", Attributes: attributes,
	}
}

type vectorStore struct {
	ID         string         `json:"id"`
	Object     string         `json:"object"`
	Name       string         `json:"name"`
	CreatedAt  int64          `json:"created_at"`
	Status     string         `json:"status"`
	UsageBytes int            `json:"usage_bytes"`
	FileCounts map[string]int `json:"file_counts"`
	Metadata   map[string]any `json:"metadata"`
}

// storeOf returns a collection as OpenAI's vector store with these totals of files.
func storeOf(collection string, files fileTotals) vectorStore {
	return vectorStore{
		ID: collection, Object: "vector_store", Name: collection, Status: "completed", UsageBytes: files.bytes,
		FileCounts: map[string]int{
			"in_progress": 0, "completed": files.files, "failed": 0, "cancelled": 0, "total": files.files,
		},
		Metadata: map[string]any{},
	}
}

type filePage struct {
	Object  string  `json:"object"`
	Data    []any   `json:"data"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// uploadFile stores the part file of a form as a document, whose id is the file's name. It returns a problem if the
// form has no such part, or the document cannot be read or stored.
func uploadFile(r *http.Request, e handlers.DocumentKeeper) (any, error) {
	broken := func(detail string) error { return fieldError("invalid_document", "/file", "%s", detail) }
	name, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || name != "multipart/form-data" {
		return nil, broken("the body has to be a form (multipart/form-data) with the parts file and purpose")
	}
	form := multipart.NewReader(r.Body, parameters["boundary"])
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil, broken("the form has no part named file")
		}
		if err != nil {
			return nil, broken("the form cannot be read: " + err.Error())
		}
		if part.FormName() != "file" {
			continue
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return nil, broken("the form cannot be read: " + err.Error())
		}
		if part.FileName() == "" {
			return nil, broken("the file has no name, which is to be the document's id")
		}
		d, err := e.KeepDocument(r.Context(), part.FileName(), part.Header.Get("Content-Type"), data)
		return fileOf(d), err
	}
}

// namedFile returns the document that the path names, with its text if text is set, or a problem if there is none.
func namedFile(r *http.Request, e handlers.DocumentKeeper, text bool) (d handlers.KeptDocument, err error) {
	id, err := documentOf(r.PathValue("file"))
	if err != nil {
		return d, err
	}
	return e.DocumentNamed(r.Context(), id, text)
}

// addition is the body that adds an uploaded file to the store; amendment changes the attributes of a file in it.
type (
	addition struct {
		FileID     string         `json:"file_id"`
		Attributes map[string]any `json:"attributes"`
		Chunking   any            `json:"chunking_strategy"` // there is one
	}
	amendment struct {
		Attributes map[string]any `json:"attributes"`
	}
)

// addFile sets the attributes of a file that was uploaded before, and returns it as one of the store. It returns a
// problem if the body is invalid or there is no such file.
func addFile(r *http.Request, e handlers.DocumentKeeper, collection string) (any, error) {
	in, err := readInto[addition](r)
	if err != nil {
		return nil, err
	}
	if in.FileID == "" {
		return nil, fieldError("missing_field", "/file_id", "file_id is missing: it has to be the id of a file")
	}
	return withAttributes(r.Context(), e, collection, in.FileID, in.Attributes)
}

// amendFile replaces the attributes of a file, and returns it as one of the store. It returns a problem if the body is
// invalid or there is no such file.
func amendFile(r *http.Request, e handlers.DocumentKeeper, collection, file string) (any, error) {
	in, err := readInto[amendment](r)
	if err != nil {
		return nil, err
	}
	return withAttributes(r.Context(), e, collection, file, in.Attributes)
}

// withAttributes replaces the tags and metadata of a file's document by the attributes; the attribute tags has tags
// separated by commas. Nil attributes change nothing. It returns the file as one of the store, or a problem if there is
// none.
func withAttributes(
	ctx context.Context,
	e handlers.DocumentKeeper,
	collection, file string,
	attributes map[string]any,
) (any, error) {
	id, err := documentOf(file)
	if err != nil {
		return nil, err
	}
	if attributes == nil {
		d, err := e.DocumentNamed(ctx, id, false)
		return storeFileOf(collection, d), err
	}
	metadata := maps.Clone(attributes)
	delete(metadata, "filename")
	var tags []string
	if text, ok := metadata[tagsKey].(string); ok {
		delete(metadata, tagsKey)
		for tag := range strings.SplitSeq(text, ",") {
			tag = strings.TrimSpace(tag)
			if tag != "" {
				tags = append(tags, tag)
			}
		}
	}
	d, err := e.AmendDocument(ctx, id, tags, metadata)
	return storeFileOf(collection, d), err
}

const (
	defaultFiles = 20
	mostFiles    = 100
)

// listFiles returns a page of the documents in the order of their ids, each as show makes it. The query has limit (1 to
// mostFiles; defaultFiles without it) and after, the id of a file. It returns a problem if one is invalid, or documents
// cannot be read.
func listFiles(r *http.Request, e handlers.DocumentKeeper, show func(handlers.KeptDocument) any) (any, error) {
	query := r.URL.Query()
	request := lookup.DocumentsRequest{Limit: defaultFiles}
	if given := query.Get("limit"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || n < 1 || n > mostFiles {
			return nil, fieldError(
				"out_of_range", "/limit", "limit is %.20q: it has to be from 1 to %d", given, mostFiles,
			)
		}
		request.Limit = n
	}
	if after := query.Get("after"); after != "" {
		id, err := documentOf(after)
		if err != nil {
			return nil, err
		}
		request.After = id
	}
	found, next, err := e.Documents(r.Context(), search.Caller{}, request)
	if err != nil {
		return nil, err
	}
	out := filePage{Object: "list", Data: []any{}, HasMore: next != ""}
	for i, d := range found {
		id := fileID(d.ID)
		if i == 0 {
			out.FirstID = &id
		}
		out.LastID = &id
		out.Data = append(out.Data, show(handlers.KeptDocument{Document: d}))
	}
	return out, nil
}

// fileDeletion says that a file is gone.
type fileDeletion struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// deleteFile returns a route that deletes the document in the path and answers with an object of this name. A document
// that is gone already is no error.
func deleteFile(object string) func(*http.Request, handlers.DocumentKeeper) (any, error) {
	return func(r *http.Request, e handlers.DocumentKeeper) (any, error) {
		id, err := documentOf(r.PathValue("file"))
		if err != nil {
			return nil, err
		}
		// One that is gone is no error: callers delete it from the store, and then the file.
		_, err = e.DropDocument(r.Context(), id)
		return fileDeletion{r.PathValue("file"), object, true}, err
	}
}

// fileContent is the text of a file.
type fileContent struct {
	Object   string      `json:"object"`
	Data     []storeText `json:"data"`
	HasMore  bool        `json:"has_more"`
	NextPage any         `json:"next_page"`
}

// storeFileContent returns the text that was read from a file. It returns a problem if there is no such file.
func storeFileContent(r *http.Request, e handlers.DocumentKeeper) (any, error) {
	d, err := namedFile(r, e, true)
	if err != nil {
		return nil, err
	}
	return fileContent{Object: "vector_store.file_content.page", Data: []storeText{{"text", d.Text}}}, nil
}
