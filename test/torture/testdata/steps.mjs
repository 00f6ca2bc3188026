// The demo agent in JavaScript with two more commands: "steps N" takes N steps, whose effects are lines of a file;
// "crash" waits after the second to be killed.
import { appendFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { demo } from "../../../hosts/typescript/demo.mjs";
import { agent } from "../../../hosts/typescript/index.mjs";

/** The i-th step: it leaves a line, and its result is one of its own. */
const effect = (turn, i) =>
  turn.step(`step ${i}`, () => {
    const result = randomBytes(8).toString("hex");
    appendFileSync(process.env.TORTURE_EFFECTS, `${turn.task} ${i} ${result}\n`);
    return result;
  });

async function steps(turn, n) {
  turn.status();
  const out = turn.artifact("steps");
  for (let i = 1; i <= n; i++) {
    out.write(`${i}=${await effect(turn, i)}\n`);
    await turn.sleep(Math.random() * 30);
  }
}

async function crash(turn) {
  const name = await turn.ask("Who?");
  const out = turn.artifact("steps");
  const had = (await out.resume()).length;
  for (let i = 1; i <= 3; i++) {
    const result = await effect(turn, i);
    if (i > had) out.write(`${i}=${result}\n`, { last: i === 3 });
    if (i === 2 && turn.attempt === 1) await turn.sleep(3_600_000);
  }
  turn.complete(`${name.text}, ${turn.attempt}, ${had}`);
}

agent((turn) => {
  const [word, n] = turn.text.split(" ");
  if (word === "crash") return crash(turn);
  return word === "steps" ? steps(turn, Number(n)) : demo(turn);
}).serve();
