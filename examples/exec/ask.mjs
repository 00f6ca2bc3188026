#!/usr/bin/env node
// Asks, with JSON lines:
//   parley serve --lines -- ./ask.mjs
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (line) => console.log(JSON.stringify(line));
const hear = async () => {
  const { value, done } = await lines.next();
  const line = done ? { type: "cancel" } : JSON.parse(value);
  return line.type === "cancel" ? process.exit(1) : line;
};

const message = await hear();
say({ type: "status", text: "thinking about it" });
say({ type: "ask", text: "What is your name?" });
say({ type: "complete", text: `Hello ${(await hear()).text}!` });
process.exit();
