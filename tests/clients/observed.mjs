// What both client programs in JavaScript share: where to send, the files, and what came back in each answer's headers.
//
// The packages stay as they are: they are given a `fetch` that notes what it got.
import { readFileSync } from "node:fs";

export const base = process.env.CLIENTS_BASE;
export const anthropicModel = process.env.CLIENTS_ANTHROPIC_MODEL;
export const openaiModel = process.env.CLIENTS_OPENAI_MODEL;
export const story = JSON.parse(process.env.CLIENTS_STORY);
const only = process.env.CLIENTS_ONLY.split(" ").filter(Boolean);

let answers = [];
const names = ["session", "turn", "tokens-before", "tokens-after", "compaction", "error"];

export async function observedFetch(url, how) {
  const response = await fetch(url, how);
  const told = Object.fromEntries(names.map((name) => [name, response.headers.get(`x-epitome-${name}`)]));
  answers.push({ path: new URL(url.url ?? url).pathname, status: response.status, ...told });
  return response;
}

export function readFile(number) {
  return readFileSync(`${process.env.CLIENTS_FILES}/${number}.txt`, "utf8");
}

// Runs each case with a key of its own, and prints what became of it as a line of JSON.
export async function run(program, cases) {
  for (const [name, run] of Object.entries(cases)) {
    const result = { case: `${program}-${name}`, final: null, error: null };
    if (only.length > 0 && !only.some((one) => result.case.startsWith(one))) continue;
    answers = [];
    try {
      result.final = await run(result.case);
    } catch (error) {
      result.error = `${error?.constructor?.name}: ${error?.message}`.slice(0, 500);
      if (process.env.CLIENTS_TRACE) console.error(error);
    }
    console.log(JSON.stringify({ ...result, answers }));
  }
}
