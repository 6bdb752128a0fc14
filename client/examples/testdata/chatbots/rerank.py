import cohere

client = cohere.ClientV2(base_url="http://127.0.0.1:8080", api_key="none")
ranked = client.rerank(
    model="late",
    query="why did the fox hide the moon",
    documents=["Rice keeps for a day.", "The fox hid the moon in her den."],
    top_n=1,
)
print(ranked.results[0].index, ranked.results[0].relevance_score)
