// Package realclients lets tests use the server as people do: with the clients that
// they have, installed from the package indexes of Python and Node, against a server
// that listens on loopback.
//
// requirements.in names what is installed for Python, and Node itself; package.json
// what is installed for Node. requirements.lock and package-lock.json pin all of it by
// version and hash. After a change of either file, write both locks anew, in this
// folder, with uv (pip install uv) and npm:
//
//	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
//	  -o requirements.lock requirements.in && npm install --package-lock-only --omit-lockfile-registry-resolved
//
// writer has a model and its server, for NewWriter: package.json takes llama.cpp's libraries for processors alone,
// and puts the package none in the place of others. After a change of it: npm install --package-lock-only
// --omit-lockfile-registry-resolved.
//
// What is installed lies in the cache folder, in one folder for each content of a
// lock, and is installed once, whichever package's tests come first. A test that
// cannot have its clients fails; with -short it is skipped.
package realclients
