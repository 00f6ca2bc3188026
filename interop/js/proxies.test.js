// Parley in front of agents made with the SDK, at three ages: its newest client
// speaks 1.0 with `parley serve --proxy`, whatever the agent behind it speaks.

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import * as agents from './agents.js';
import { v10 } from './clients.js';
import { serve } from './parley.js';
import { suite } from './suite.js';

const behind = {};
const front = {};
before(async () => {
  for (const name of ['v02', 'v03', 'v10']) {
    behind[name] = await agents[name]();
    front[name] = await serve(['--proxy', behind[name].url]);
  }
}, { timeout: 300_000 }); // a cold build of the binary
after(async () => {
  for (const server of Object.values(front)) assert.equal(await server.stop(), 0, 'the server ends cleanly on SIGTERM');
  for (const agent of Object.values(behind)) agent.stop();
});

suite(['@a2a-js/sdk', '0.2.5', 'proxied', '1.0 to 0.2'], () => v10(front.v02.url, 'JSONRPC'));
suite(['@a2a-js/sdk', '0.3.14', 'proxied', '1.0 to 0.3'], () => v10(front.v03.url, 'JSONRPC'));
suite(['@a2a-js/sdk', '1.3.0', 'proxied', '1.0 to 1.0'], () => v10(front.v10.url, 'HTTP+JSON'));
