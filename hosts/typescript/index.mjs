// A2A agents in TypeScript and JavaScript: index.d.ts says how to write one. This file runs on
// Node as it is; the types stand beside it, because not every Node reads TypeScript.
import { createInterface } from "node:readline";
import { setImmediate, setTimeout } from "node:timers/promises";

const maxLine = 8 << 20;
const ends = ["complete", "reply", "reject", "fail"];
const speaks = process.env.PARLEY_MODE === "lines";
const { stdin, stdout, stderr } = process;
const write = stdout.write.bind(stdout);
const take = () => (stdout.write = stderr.write.bind(stderr)); // from here on what the program prints goes to the log
// A child process that imports this file has an output of its own, unless it serves.
if (speaks && (process.env.PARLEY_PROCESS ??= `${process.pid}`) === `${process.pid}`) take();

export class Cancelled extends Error {
  name = "Cancelled";
}

export class Failed extends Error {
  name = "Failed";
  constructor(reason = "", metadata = undefined) {
    super(typeof reason === "string" ? reason : JSON.stringify(reason));
    partsOf(reason); // throws here, where the mistake is
    Object.assign(this, { reason, metadata });
  }
}

export class Rejected extends Failed {
  name = "Rejected";
}

function partsOf(content) {
  if (Array.isArray(content)) return content.flatMap(partsOf);
  if (typeof content === "string") return [{ text: content }];
  if (content === null || typeof content !== "object" || !["text", "data", "url", "raw"].some((kind) => kind in content)) {
    throw new TypeError(`a text, a part with text, data, url or raw, or a list of them is wanted, not ${JSON.stringify(content)}`);
  }
  return [content.raw instanceof Uint8Array ? { ...content, raw: Buffer.from(content.raw).toString("base64") } : content];
}

function messageOf(line) {
  const { parts = [], metadata = {} } = line.message;
  const bytes = (part) => (part.raw === undefined ? part : { ...part, raw: new Uint8Array(Buffer.from(part.raw, "base64")) });
  return { text: line.text, parts: parts.map(bytes), metadata, raw: line.message };
}

function artifactOf(turn, name, begin) {
  let closed = false;
  const write = (content, { last = false, anew = false } = {}) => {
    if (closed && !anew) throw new Error(`the artifact ${JSON.stringify(name)} is closed: its last chunk was written`);
    const parts = partsOf(content);
    if (parts.length || last) turn._say("artifact", { name, parts, last, append: !anew, ...begin });
    closed = last;
  };
  const close = () => void (closed || write([], { last: true }));
  const resume = async () => messageOf({ message: await turn._call("resume", { name }) }).parts;
  return { write, close, resume };
}

export class Turn {
  #send;
  #step = "";
  #waiting = null;
  #abort = new AbortController();

  constructor(line, send) {
    this.#send = send;
    this.message = messageOf(line);
    const { text, task, context, attempt, caller, metadata = {}, skill, accepted = [], version = "" } = line;
    Object.assign(this, { text, task, context, attempt, caller, metadata, skill, accepted, version, filesIn: line.in, filesOut: line.out });
    const { traceparent, tracestate } = line;
    this.trace = { ...(traceparent && { traceparent }), ...(tracestate && { tracestate }) };
    this.signal = this.#abort.signal;
    this._ended = false;
  }

  status(content = "", metadata = undefined) {
    this._say("status", { parts: partsOf(content), metadata });
  }

  artifact(name = "", begin = {}) {
    return artifactOf(this, name, begin);
  }

  async ask(question) {
    return messageOf(await this._call("ask", { parts: partsOf(question) }, "answer"));
  }

  async authenticate(prompt) {
    return messageOf(await this._call("authenticate", { parts: partsOf(prompt) }, "answer"));
  }

  async step(name, fn) {
    if (this.#step !== name) {
      const { done, result } = await this._call("step", { name });
      if (done) return result;
      this.#step = name;
    } // else the last try threw, and the server waits for its result
    const result = (await fn()) ?? null;
    this._say("result", { result });
    this.#step = "";
    return result;
  }

  async sleep(ms) {
    await setImmediate(); // a cancel is heard also between sleeps of nothing
    for (const end = Date.now() + ms; Date.now() < end; ) {
      await setTimeout(Math.min(end - Date.now(), 2 ** 31 - 1), undefined, { signal: this.signal }).catch(() => this._check());
    }
    this._check();
  }

  async tasks(which) {
    return (await this._call(which, {}, "tasks")).tasks;
  }

  complete(content = "", metadata = undefined) {
    this._say("complete", { parts: partsOf(content), metadata });
  }

  _check() {
    if (this.signal.aborted) throw this.signal.reason;
  }

  _say(type, members) {
    if (type !== "fail") this._check();
    if (this._ended) throw new Error("the task has ended: return from the function");
    if (this.#step && ["ask", "authenticate", "step", "complete", "reply"].includes(type)) {
      throw new Error(`step ${JSON.stringify(this.#step)} has no result: call it again, or throw Failed or Rejected`);
    }
    this.#send({ type, task: this.task, ...members });
    this._ended = ends.includes(type);
  }

  _call(type, members, wanted = type) {
    if (this.#waiting) throw new Error(`${type} while another answer is awaited: await each call`);
    this._say(type, members);
    return new Promise((resolve, reject) => {
      this.#waiting = { wanted, resolve, reject };
    });
  }

  _hear(line) {
    const waiting = this.#waiting;
    if (line.type !== waiting?.wanted) return;
    this.#waiting = null;
    waiting.resolve(line);
  }

  _cancel(reason) {
    const cancelled = new Cancelled(reason);
    this.#abort.abort(cancelled);
    this.#waiting?.reject(cancelled);
    this.#waiting = null;
  }
}

async function serve(fn) {
  if (!speaks) {
    console.error(`this program is an agent. Start it with:\n  parley serve --lines -- node ${process.argv[1]}`);
    process.exitCode = 1;
    return;
  }
  take();
  stdout.on("error", () => {}); // the server is gone, which the end of the input says, too
  const send = (line) => {
    const text = JSON.stringify(line);
    if (Buffer.byteLength(text) > maxLine) throw new RangeError("more than 8 MiB at once: write it in smaller chunks");
    write(`${text}\n`);
  };
  let turn;
  let run;
  for await (const text of createInterface({ input: stdin, crlfDelay: Infinity })) {
    const line = JSON.parse(text);
    if (line.type === "message") {
      turn = new Turn(line, send);
      run = handle(fn, turn);
    } else if (line.type !== "cancel") turn?._hear(line);
    else if (turn && (line.task ?? turn.task) === turn.task) turn._cancel(line.reason ?? "canceled");
  }
  turn?._cancel("the server has closed the input");
  await run;
  write("", () => process.exit()); // whatever the agent left open
}

async function handle(fn, turn) {
  const end = (type, reason = "", metadata = undefined) => turn._ended || turn._say(type, { parts: partsOf(reason), metadata });
  try {
    const parts = partsOf((await fn(turn)) ?? []);
    end(parts.length ? "reply" : "complete", parts);
  } catch (error) {
    try {
      if (turn.signal.aborted) end("fail", "canceled");
      else if (error instanceof Failed) end(error instanceof Rejected ? "reject" : "fail", error.reason, error.metadata);
      else {
        console.error(error);
        end("fail", `the agent failed (${error?.name ?? typeof error})`);
      }
    } catch (error) {
      console.error(error); // a reason that is too large: the task waits for an end in vain
      process.exit(1);
    }
  }
}

export function agent(fn) {
  return { serve: () => serve(fn) };
}
