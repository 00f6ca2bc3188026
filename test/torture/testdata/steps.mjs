// The demo agent in JavaScript with one more command: "steps N" takes N steps, whose effects are lines of a file.
import { appendFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { demo } from "../../../hosts/typescript/demo.mjs";
import { agent } from "../../../hosts/typescript/index.mjs";

async function steps(turn, n) {
  turn.status();
  const out = turn.artifact("steps");
  for (let i = 1; i <= n; i++) {
    const result = await turn.step(`step ${i}`, () => {
      const result = randomBytes(8).toString("hex");
      appendFileSync(process.env.TORTURE_EFFECTS, `${turn.task} ${i} ${result}\n`);
      return result;
    });
    out.write(`${i}=${result}\n`);
    await turn.sleep(Math.random() * 30);
  }
}

agent((turn) => (turn.text.startsWith("steps ") ? steps(turn, Number(turn.text.slice(6))) : demo(turn))).serve();
