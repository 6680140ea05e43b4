// The official TypeScript SDK `@anthropic-ai/sdk`: whole, streamed, tool runners.
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { anthropicModel, base, observedFetch, readFile, run, story } from "./observed.mjs";

const tool = { name: story.tool, description: story.description, input_schema: story.parameters };
const params = { model: anthropicModel, max_tokens: 1024, system: story.system, tools: [tool] };
const client = (key) => new Anthropic({ apiKey: key, baseURL: base, fetch: observedFetch });
const said = (message) => message.content.filter((block) => block.type === "text").map((block) => block.text).join("");

async function converse(ask) {
  const messages = [];
  const finals = [];
  for (const task of [story.half, story.rest]) {
    messages.push({ role: "user", content: task });
    for (;;) {
      const message = await ask(messages);
      messages.push({ role: "assistant", content: message.content });
      const calls = message.content.filter((block) => block.type === "tool_use");
      if (calls.length === 0) {
        finals.push(said(message));
        break;
      }
      const content = calls.map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: readFile(input.number) }));
      messages.push({ role: "user", content });
    }
  }
  return finals;
}

// Without `thread: false`, the server of the provider holds the conversation.
function runner(key, how) {
  const readable = betaTool({
    name: story.tool,
    description: story.description,
    inputSchema: story.parameters,
    run: ({ number }) => readFile(number),
  });
  const messages = [{ role: "user", content: story.whole }];
  return client(key).beta.messages.toolRunner({ ...params, tools: [readable], messages, ...how });
}

await run("node-anthropic", {
  create: (key) => {
    const here = client(key);
    return converse((messages) => here.messages.create({ ...params, messages }));
  },
  stream: (key) => {
    const here = client(key);
    return converse((messages) => here.messages.stream({ ...params, messages }).finalMessage());
  },
  runner: async (key) => said(await runner(key, { thread: false })),
  "runner-thread": async (key) => said(await runner(key, {})),
  "runner-stream": async (key) => {
    let message;
    for await (const stream of runner(key, { thread: false, stream: true })) message = await stream.finalMessage();
    return said(message);
  },
});
