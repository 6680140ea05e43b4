// The official TypeScript SDK `openai`: Chat Completions and Responses; whole, streamed, tool runners.
import OpenAI from "openai";
import { base, observedFetch, openaiModel, readFile, run, story } from "./observed.mjs";

const definition = { name: story.tool, description: story.description, parameters: story.parameters, strict: true };
const chatParams = { model: openaiModel, tools: [{ type: "function", function: definition }] };
const responsesParams = { model: openaiModel, instructions: story.system, tools: [{ type: "function", ...definition }], store: false };
const client = (key) => new OpenAI({ apiKey: key, baseURL: `${base}/v1`, fetch: observedFetch });

async function chat(ask) {
  const messages = [{ role: "system", content: story.system }];
  const finals = [];
  for (const task of [story.half, story.rest]) {
    messages.push({ role: "user", content: task });
    for (;;) {
      const message = await ask(messages);
      messages.push(message);
      if (!message.tool_calls?.length) {
        finals.push(message.content);
        break;
      }
      for (const call of message.tool_calls) {
        const { number } = JSON.parse(call.function.arguments);
        messages.push({ role: "tool", tool_call_id: call.id, content: readFile(number) });
      }
    }
  }
  return finals;
}

async function responses(ask) {
  const input = [];
  const finals = [];
  for (const task of [story.half, story.rest]) {
    input.push({ role: "user", content: task });
    for (;;) {
      const response = await ask(input);
      input.push(...response.output);
      const calls = response.output.filter((item) => item.type === "function_call");
      if (calls.length === 0) {
        finals.push(response.output_text);
        break;
      }
      for (const call of calls) {
        const { number } = JSON.parse(call.arguments);
        input.push({ type: "function_call_output", call_id: call.call_id, output: readFile(number) });
      }
    }
  }
  return finals;
}

function runTools(key, stream) {
  const readable = { ...definition, parse: JSON.parse, function: ({ number }) => readFile(number) };
  const messages = [
    { role: "system", content: story.system },
    { role: "user", content: story.whole },
  ];
  const tools = [{ type: "function", function: readable }];
  return client(key).chat.completions.runTools({ model: openaiModel, messages, tools, stream }, { maxChatCompletions: 60 });
}

await run("node-openai", {
  chat: (key) => {
    const here = client(key);
    return chat(async (messages) => (await here.chat.completions.create({ ...chatParams, messages })).choices[0].message);
  },
  "chat-stream": (key) => {
    const here = client(key);
    return chat(async (messages) => {
      const whole = await here.chat.completions.stream({ ...chatParams, messages }).finalChatCompletion();
      return whole.choices[0].message;
    });
  },
  "chat-runner": (key) => runTools(key, false).finalContent(),
  "chat-runner-stream": (key) => runTools(key, true).finalContent(),
  responses: (key) => {
    const here = client(key);
    return responses((input) => here.responses.create({ ...responsesParams, input }));
  },
  "responses-stream": (key) => {
    const here = client(key);
    return responses((input) => here.responses.stream({ ...responsesParams, input }).finalResponse());
  },
});
