package evaluation

// ReadQuestions reads questions of any format that needs no second file.
func ReadQuestions(path string) ([]Question, error) {
	set, err := Read(Source{Path: path})
	return set.Questions, err
}
