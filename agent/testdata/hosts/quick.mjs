// The demo agent in JavaScript, with a clock that takes no time and says what it was asked for.
import { setImmediate } from "node:timers/promises";
import { demo } from "../../../hosts/typescript/demo.mjs";
import { agent, Turn } from "../../../hosts/typescript/index.mjs";

Turn.prototype.sleep = async function (ms) {
  if (ms) console.log(`slept ${ms / 1000}`);
  await setImmediate();
  this.signal.throwIfAborted();
};
agent(demo).serve();
