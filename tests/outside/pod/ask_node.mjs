// An application: ask_python.py, by the Node SDK. OPENAI_BASE_URL and OPENAI_API_KEY are all that it is told.
import { createRequire } from "node:module";
import readline from "node:readline";

const require = createRequire(`${process.env.REPRISE_NODE}/`);
const { OpenAI, APIError } = require("openai");

const tell = (told) => process.stdout.write(`${JSON.stringify(told)}\n`);
const client = new OpenAI();

async function ask({ question, stream }) {
  const messages = [{ role: "user", content: question }];
  const body = { model: "m", temperature: 0, messages, stream };
  const { data, response, request_id } = await client.chat.completions.create(body).withResponse();
  const told = (text) => ({ text, cache_status: response.headers.get("cache-status"), request_id });
  if (!stream) return told(data.choices[0].message.content);
  let text = "";
  let begun = false;
  for await (const chunk of data) {
    if (!begun) tell({ begun: true });
    begun = true;
    for (const choice of chunk.choices) text += choice.delta.content ?? "";
  }
  return told(text);
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  try {
    tell(await ask(JSON.parse(line)));
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    const { status, code, requestID } = error;
    tell({ error: { kind: error.constructor.name, status, code, request_id: requestID } });
  }
}
