// The SDK as client, at three ages, of `parley serve` as it comes.

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { v02, v03, v10, v10as03 } from './clients.js';
import { serve } from './parley.js';
import { suite } from './suite.js';
import { watchFetch } from './transcript.js';

let server;
before(async () => {
  watchFetch();
  server = await serve();
}, { timeout: 300_000 }); // a cold build of the binary
after(async () => {
  assert.equal(await server?.stop(), 0, 'the server ends cleanly on SIGTERM');
});

const bindings = ['JSONRPC', 'HTTP+JSON', 'GRPC'];

suite(['@a2a-js/sdk', '0.2.5', 'client', 'JSONRPC 0.2'], () => v02(server.url));
for (const binding of bindings) {
  suite(['@a2a-js/sdk', '0.3.14', 'client', `${binding} 0.3`], () => v03(server.url, binding));
}
for (const binding of bindings) {
  suite(['@a2a-js/sdk', '1.3.0', 'client', `${binding} 1.0`], () => v10(server.url, binding));
}
for (const binding of bindings) {
  suite(['@a2a-js/sdk', '1.3.0', 'client', `${binding} 0.3`], () => v10as03(server.url, binding));
}
