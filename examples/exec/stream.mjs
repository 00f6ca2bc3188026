#!/usr/bin/env node
// Streams: each line that is printed is a chunk of the answer.
//   parley serve -- ./stream.mjs
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";

for (const word of (await text(process.stdin)).trim().split(/\s+/)) {
  console.log(word.toUpperCase());
  await setTimeout(200);
}
