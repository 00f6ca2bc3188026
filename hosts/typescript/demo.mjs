#!/usr/bin/env node
// Parley's demo agent, word by word, in JavaScript:
//   parley serve --lines -- node hosts/typescript/demo.mjs
import { pathToFileURL } from "node:url";
import { agent, Failed, Rejected } from "parley";

const firstText = (message) => message.parts.find((part) => part.text !== undefined)?.text ?? "";
const artifact = (turn, name, ...content) => turn.artifact(name).write(content, { last: true });
const echo = (turn, text) => artifact(turn, "echo", text);
const ask = async (turn, question) => artifact(turn, "answer", firstText(await turn.ask(question)));

async function stream(turn, arg) {
  const [, n, ms = 50] = arg.match(/^(\d{1,6})(?: (\d{1,5}))?$/)?.map((s) => s && Number(s)) ?? [];
  if (!(n >= 1 && n <= 100_000 && ms <= 60_000)) {
    throw new Failed("usage: stream N [MS], with N from 1 to 100000 chunks and MS from 0 to 60000 milliseconds between them");
  }
  turn.status();
  const out = turn.artifact("stream");
  const had = await out.resume();
  for (let i = had.length + 1; i <= n; i++) { // a chunk is a part
    out.write(`chunk ${i}\n`, { last: i === n });
    if (i < n) await turn.sleep(ms);
  }
}

async function sleep(turn, arg) {
  if (!/^(\d+\.?\d*|\.\d+)$/.test(arg) || Number(arg) > 1e9) throw new Failed("usage: sleep SECONDS, a number such as 2 or 0.5");
  turn.status(`sleeping ${arg} seconds`);
  await turn.sleep(Number(arg) * 1000);
  artifact(turn, "sleep", `slept ${arg}`);
}

async function refine(turn, arg) {
  const refers = turn.message.raw.referenceTaskIds?.length > 0;
  const earlier = await turn.tasks(refers ? "references" : "siblings");
  const task = earlier.find((t) => t.artifacts?.length && (refers || t.status.state === "TASK_STATE_COMPLETED"));
  if (task) artifact(turn, task.artifacts[0].name ?? "", arg);
  else await ask(turn, "Which earlier result do you mean? There is none that I can see.");
}

const help = `\
help: an artifact with all of these commands, each with an example.
    help
echo TEXT: an artifact with the text.
    echo hello
message TEXT: a direct message with the text; no task is created.
    message hello
stream N [MS]: an artifact in N chunks, one every MS milliseconds (default 50).
    stream 20 200
sleep SECONDS: works for that long, unless it is cancelled.
    sleep 2.5
ask [QUESTION]: needs input; the next message of the task is the answer.
    ask Which city?
auth: needs authorization; the next message of the task gives it.
    auth
fail [REASON]: the task fails.
    fail out of paper
reject [REASON]: the task is rejected.
    reject not my job
file: an artifact with a small picture and a link to a document.
    file
data: an artifact with a JSON value.
    data
refine TEXT: a new version of the artifact of an earlier task, which the message refers to or which is the latest of the context.
    refine make it shorter
Any other text comes back as it is.
`;

const commands = {
  echo,
  message: (turn, arg) => arg,
  stream,
  sleep,
  ask: (turn, arg) => ask(turn, arg || "What is your name?"),
  async auth(turn) {
    await turn.authenticate("Authorization needed: send any message to this task to give it.");
    artifact(turn, "auth", "authorized");
  },
  fail(turn, arg) {
    throw new Failed(arg || "failed on request");
  },
  reject(turn, arg) {
    throw new Rejected(arg || "rejected on request");
  },
  file(turn) {
    const raw = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAQMAAABJtOi3AAAAA1BMVEUrVsmdOxQdAAAADElEQVR42mNgGNwAAACgAAGO+7G0AAAAAElFTkSuQmCC", "base64");
    const picture = { raw, mediaType: "image/png", filename: "pixel.png" };
    artifact(turn, "file", picture, { url: "https://example.com/report.pdf", mediaType: "application/pdf", filename: "report.pdf" });
  },
  data: (turn) => artifact(turn, "data", { data: { answer: 42, ok: true, list: [1, "two", null], nested: { pi: 3.5, text: "héllo" } } }),
  refine,
  help: (turn) => artifact(turn, "help", help),
};

/** Does what the first word of the message says; any other text comes back. */
export async function demo(turn) {
  const text = firstText(turn.message);
  const [word] = text.split(" ", 1);
  if (!Object.hasOwn(commands, word)) return echo(turn, text);
  return commands[word](turn, text.slice(word.length + 1));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) agent(demo).serve();
