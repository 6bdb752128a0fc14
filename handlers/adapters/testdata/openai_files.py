"""Uses the files of a vector store with OpenAI's package for Python, and prints what it got as JSON."""
import io
import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="x", max_retries=0)
store = client.vector_stores.retrieve("c")
handbook = ("handbook.md", io.BytesIO(b"# Returns\n\nSend a photo of the damaged lamp first."), "text/markdown")
added = client.vector_stores.files.upload_and_poll(vector_store_id=store.id, file=handbook)
hours = client.files.create(file=("hours.txt", io.BytesIO(b"Open from nine to five.")), purpose="assistants")
client.vector_stores.files.create(store.id, file_id=hours.id, attributes={"year": 2026, "tags": "service, public"})
counted = client.vector_stores.retrieve("c")
got = {
    "files": [counted.file_counts.total, counted.file_counts.completed, counted.usage_bytes],
    "bytes": [x.bytes for x in client.files.list()] + [client.files.retrieve(hours.id).bytes],
    "store": store.id,
    "status": added.status,
    "listed": [x.attributes["filename"] for x in client.vector_stores.files.list("c", limit=1)],  # page by page
    "attributes": client.vector_stores.files.retrieve(hours.id, vector_store_id="c").attributes,
    "content": [x.text for x in client.vector_stores.files.content(added.id, vector_store_id="c")],
    "found": client.vector_stores.search("c", query="photo of the damage", max_num_results=1).data[0].filename,
    "tagged": [
        x.filename
        for x in client.vector_stores.search(
            "c", query="open", max_num_results=5, filters={"type": "eq", "key": "tags", "value": "public"}
        )
    ],
    "file": client.files.retrieve(hours.id).filename,
    "deleted": client.vector_stores.files.delete(added.id, vector_store_id="c").deleted,
    "deleted_too": client.files.delete(added.id).deleted,
    "left": [x.filename for x in client.files.list()],
}
got["files"].append(client.vector_stores.list().data[0].file_counts.total)
try:
    client.files.create(file=("x.docx", io.BytesIO(b"PK\x03\x04 rubbish")), purpose="assistants")
except openai.APIStatusError as e:
    got["refused"] = f"{e.status_code} {e.message}"
try:
    client.vector_stores.files.retrieve(added.id, vector_store_id="c")
except openai.NotFoundError as e:
    got["gone"] = e.message
print(json.dumps(got))
