// Says in JavaScript what the demo agent has no words for.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { agent, Failed, Rejected } from "../../../hosts/typescript/index.mjs";

const kinds = ["text", "data", "url", "raw"];
const commands = {
  told(turn) {
    const { text, task, context, attempt, caller, metadata, skill = null, accepted, version, trace, message } = turn;
    const parts = message.parts.map((p) => [kinds.find((k) => k in p), p.mediaType ?? "", p.filename ?? ""]);
    return { data: { text, task, context, attempt, caller, metadata, skill, accepted, version, trace, parts, of: message.metadata } };
  },
  status(turn) {
    turn.status({ data: { done: 0.5 } }, { a: 1 });
    turn.complete(["all ", { text: "done" }]);
  },
  artifact(turn) {
    const a = turn.artifact("a", { description: "about", metadata: { m: 1 } });
    a.write(["one", { data: { two: 2 } }]);
    a.write("anew", { anew: true });
    a.close();
  },
  closed(turn) {
    const a = turn.artifact("a");
    a.write("x", { last: true });
    a.write("y");
  },
  async step(turn) {
    let tries = 0;
    const charge = () => {
      if (++tries === 1) throw new Error("no luck");
    };
    const charged = await turn.step("charge", charge).catch(() => {
      console.log("again");
      return turn.step("charge", charge);
    });
    return [charged === null ? "None" : "some", ` ${await turn.step("ship", async () => 17)}`];
  },
  async undone(turn) {
    await turn.step("charge", () => Promise.reject(new Error())).catch(() => {});
    return "never mind";
  },
  files(turn) {
    for (const name of readdirSync(turn.filesIn).sort()) {
      writeFileSync(`${turn.filesOut}/${name}.out`, readFileSync(`${turn.filesIn}/${name}`, "utf8").toUpperCase());
    }
  },
  broken() {
    throw new RangeError("the password is hush");
  },
  failed() {
    throw new Failed("no paper", { left: 0 });
  },
  rejected() {
    throw new Rejected(["not ", "mine"]);
  },
  nothing: () => [],
  reasonless() {
    throw new Failed(new Error("no text"));
  },
  wrong: () => 7,
  large(turn) {
    turn.artifact("a").write("x".repeat(8 << 20));
  },
  child() {
    const script = `await import("${import.meta.resolve("../../../hosts/typescript/index.mjs")}"); console.log("said")`;
    return execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }).trim();
  },
  ended(turn) {
    turn.complete("done");
    turn.status("more");
  },
  killed() {
    console.log("on paper");
    process.kill(process.pid, "SIGKILL");
  },
  async together(turn) {
    await Promise.all([turn.ask("one?"), turn.ask("two?")]);
  },
};

if (process.env.PROBE_SAYS) console.log(process.env.PROBE_SAYS);
agent((turn) => commands[turn.text.split(/\s/)[0]](turn)).serve();
