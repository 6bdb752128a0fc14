import OpenAI from "openai";

const client = new OpenAI({ baseURL: "http://127.0.0.1:8080/v1", apiKey: "none" });
const page = await client.vectorStores.search("demo", { query: "why did the fox hide the moon" });
console.log(page.data[0].score, page.data[0].content[0].text);
