from conclave_client import Client, Passage, Problem

with Client("http://127.0.0.1:8080") as conclave:
    answer = conclave.search("how long should I pinch my nose for a nosebleed", k=3, answer=True)
    print(answer.verdict, answer.confidence)
    for words in answer.answers:
        print("answer:", words.text, "in", words.document.title, words.heading, words.page)
    for result in answer.results:
        print(result.document.title, result.heading, result.page, result.text)
    print(answer.to_pandas())

    for line in conclave.upload([Passage("note/tea", "Green tea is brewed below the boiling point.")], visible=True):
        print(line.id, line.status)
    conclave.delete("note/tea")
    try:
        conclave.passage("nobody")
    except Problem as problem:
        print(problem.status, problem.code, problem.detail)
