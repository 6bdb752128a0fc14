// server.mjs MODEL.gguf: OpenAI's chat interface on loopback, over llama.cpp on one thread. Each line that it prints is a
// JSON object: {"event": "listening", "port": N} first, then what becomes of each request: "began", and "ended" or
// "left" (who asked is gone: the writing was ended), with the pieces that it wrote.
import http from "http";
import {getLlama, LlamaChatSession} from "node-llama-cpp";

const say = (event, more = {}) => process.stdout.write(JSON.stringify({event, ...more}) + "\n");
const llama = await getLlama({gpu: false, build: "never", maxThreads: 1, logLevel: "error"});
const model = await llama.loadModel({modelPath: process.argv[2]});
const context = await model.createContext({contextSize: 4096, batchSize: 64, threads: 1});
const sequence = context.getSequence(); // it keeps what it has read, and reads on where the next request differs

async function write({messages, max_tokens: maxTokens, temperature, stream}, response) {
  const left = new AbortController();
  response.on("close", () => left.abort());
  if (response.destroyed) left.abort();
  const session = new LlamaChatSession({
    contextSequence: sequence,
    autoDisposeSequence: false,
    systemPrompt: messages.find(m => m.role === "system")?.content,
  });
  const about = {id: "c", created: Math.floor(Date.now() / 1000), model: "smollm2"};
  const piece = (delta, finish_reason = null) => response.write("data: " + JSON.stringify(
    {...about, object: "chat.completion.chunk", choices: [{index: 0, delta, finish_reason}]}) + "\n\n");
  let pieces = 0;
  try {
    if (stream) response.setHeader("Content-Type", "text/event-stream");
    const {responseText, stopReason} = await session.promptWithMeta(messages.at(-1).content, {
      maxTokens, temperature, signal: left.signal, stopOnAbortSignal: true,
      onTextChunk: text => { pieces++; if (stream) piece({content: text}); },
    });
    if (left.signal.aborted) return say("left", {pieces});
    const finish = stopReason === "maxTokens" ? "length" : "stop";
    if (stream) {
      piece({}, finish);
      response.end("data: [DONE]\n\n");
    } else {
      response.setHeader("Content-Type", "application/json");
      const message = {role: "assistant", content: responseText};
      response.end(JSON.stringify({...about, object: "chat.completion", choices: [{index: 0, finish_reason: finish, message}]}));
    }
    say("ended", {pieces});
  } catch (e) {
    if (left.signal.aborted) return say("left", {pieces});
    say("failed", {why: String(e)});
    response.writeHead(500, {"Content-Type": "application/json"}).end(JSON.stringify({error: {message: String(e)}}));
  } finally {
    session.dispose();
  }
}

let before = Promise.resolve(); // one after the other: there is one sequence
const server = http.createServer((request, response) => {
  if (request.url === "/v1/models") {
    response.setHeader("Content-Type", "application/json");
    return response.end(JSON.stringify({object: "list", data: [{id: "smollm2", object: "model", created: 1, owned_by: "test"}]}));
  }
  let body = "";
  request.on("data", data => body += data);
  request.on("end", () => before = before.then(() => {
    say("began");
    return write(JSON.parse(body), response);
  }));
});
server.listen(0, "127.0.0.1", () => say("listening", {port: server.address().port}));
process.stdin.on("end", () => process.exit(0)).resume(); // who started it is gone
