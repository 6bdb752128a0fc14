package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// declared are the identifiers that the repository's files use, by what a comment may write before them.
type declared struct {
	everywhere map[string]bool            // in any file, in code and in strings
	of         map[string]map[string]bool // by the name of a package or a type: its declarations, methods and fields
}

// Ways in which a comment names an identifier.
var (
	qualified = regexp.MustCompile(`\b([A-Za-z]\w*)\.([A-Za-z]\w*)\b`)
	quoted    = regexp.MustCompile("`([A-Za-z_]\\w*)`")
	camelCase = regexp.MustCompile(`\b[a-z]+[a-z0-9]*[A-Z][A-Za-z0-9]*\b`)
)

// TestNamesInComments: an identifier that a comment names exists: in backquotes or in camel case anywhere, and behind
// the name of a package or a type of this repository in that one.
func TestNamesInComments(t *testing.T) {
	known := declared{map[string]bool{}, map[string]map[string]bool{}}
	readFiles(t, func(_ *token.FileSet, file *ast.File, source []byte) { known.add(file, source) })
	named := 0
	readFiles(t, func(files *token.FileSet, file *ast.File, _ []byte) {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				for _, name := range known.missing(comment.Text) {
					t.Errorf("%s: the comment names %s, which does not exist", files.Position(comment.Pos()), name)
				}
				named += len(qualified.FindAllString(comment.Text, -1)) + len(camelCase.FindAllString(comment.Text, -1))
			}
		}
	})
	if named < 1000 {
		t.Errorf("only %d names were found in comments", named)
	}
}

// add adds what a file declares and uses.
func (d *declared) add(file *ast.File, source []byte) {
	code := []byte(source)
	for _, group := range file.Comments {
		for i := group.Pos() - file.FileStart; i < group.End()-file.FileStart; i++ {
			code[i] = ' '
		}
	}
	for _, name := range regexp.MustCompile(`[A-Za-z_]\w*`).FindAllString(string(code), -1) {
		d.everywhere[name] = true
	}
	name := strings.TrimSuffix(file.Name.Name, "_test")
	for _, declaration := range file.Decls {
		switch x := declaration.(type) {
		case *ast.FuncDecl:
			d.put(name, x.Name.Name)
			if x.Recv != nil {
				d.put(receiverOf(x), x.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range x.Specs {
				d.addSpec(name, spec)
			}
		}
	}
}

// addSpec adds a declaration of types, constants or variables of a package.
func (d *declared) addSpec(name string, spec ast.Spec) {
	switch x := spec.(type) {
	case *ast.ValueSpec:
		for _, one := range x.Names {
			d.put(name, one.Name)
		}
	case *ast.TypeSpec:
		d.put(name, x.Name.Name)
		d.put(x.Name.Name, "") // it is a type
		ast.Inspect(x.Type, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok {
				for _, one := range field.Names {
					d.put(x.Name.Name, one.Name)
				}
				if len(field.Names) == 0 { // embedded
					ast.Inspect(field.Type, func(n ast.Node) bool {
						if one, ok := n.(*ast.Ident); ok {
							d.put(x.Name.Name, one.Name)
							d.put(x.Name.Name, "*") // and has what that has
						}
						return true
					})
				}
			}
			return true
		})
	}
}

// put adds a name behind another one.
func (d *declared) put(before, name string) {
	if d.of[before] == nil {
		d.of[before] = map[string]bool{}
	}
	d.of[before][name] = true
}

// receiverOf returns the name of the type that a method is of.
func receiverOf(f *ast.FuncDecl) (name string) {
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if one, ok := n.(*ast.Ident); ok && name == "" {
			name = one.Name
		}
		return true
	})
	return name
}

// missing returns the names in a comment that do not exist.
func (d *declared) missing(comment string) (names []string) {
	defer func() { names = slices.DeleteFunc(names, isForeign) }()
	for _, m := range qualified.FindAllStringSubmatch(comment, -1) {
		of := d.of[m[1]]
		if of != nil && !of[m[2]] && !of["*"] && !d.fileName(m[2]) && (of[""] || isUpper(m[2])) {
			names = append(names, m[0])
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(comment, -1) {
		if !d.everywhere[m[1]] {
			names = append(names, m[1])
		}
	}
	for _, name := range camelCase.FindAllString(comment, -1) {
		if !d.everywhere[name] {
			names = append(names, name)
		}
	}
	return names
}

// fileName reports whether a name is the ending of a file.
func (d *declared) fileName(name string) bool {
	endings := strings.Fields("go yaml yml json jsonl md onnx npy py proto txt tsv html css js mjs zip bin safetensors")
	return slices.Contains(endings, name)
}

// isForeign reports whether a name is of something outside of this repository that comments speak of: another program,
// a protocol, a setting of OpenSearch, a class of CSS, or a function of Lucene or of Python.
func isForeign(name string) bool {
	names := strings.Fields("vLLM gRPC uXXXX session.run index.max_result_window relatedPosts lowerRoman intToByte4 byte4ToInt")
	return slices.Contains(names, name)
}

// isUpper reports whether a name begins with a capital letter.
func isUpper(name string) bool { return name[0] >= 'A' && name[0] <= 'Z' }
