"""A program with the client that openapi-python-client makes of the document: it adds a
passage, waits until searches see it, and searches for it."""

import os

from api import Client
from api.api.search import search_passages
from api.api.write import upload_passages
from api.models import PassageRequest, SearchRequest, SearchResponse, UploadPassagesRefresh

with Client(base_url=os.environ["SERVER"]) as client:
    stored = upload_passages.sync_detailed(
        client=client,
        body=[PassageRequest(id="kite/py", text="A python flew a kite over the harbour.")],
        refresh=UploadPassagesRefresh.WAIT,
    )
    assert stored.status_code == 200, stored.content
    found = search_passages.sync(client=client, body=SearchRequest(question="python kite harbour"))
    assert isinstance(found, SearchResponse), found
    first = found.results[0]
    print(first.id, first.rank)
