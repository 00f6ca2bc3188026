// The parley command as client of agents made with the SDK, at three ages.

import { after, before } from 'node:test';
import * as agents from './agents.js';
import { cli } from './cli.js';
import { suite } from './suite.js';

const running = {};
before(async () => {
  for (const name of ['v02', 'v03', 'v10']) running[name] = await agents[name]();
});
after(() => {
  for (const agent of Object.values(running)) agent.stop();
});

const bindings = ['JSONRPC', 'HTTP+JSON', 'GRPC'];

// In the form of protobuf, which REST and gRPC share in 0.3, the SDK has no
// file names and no metadata of parts, by which data is unwrapped again.
const proto = (binding) => (binding === 'JSONRPC' ? {} : { noFilename: true, objectsOnly: true });

suite(['@a2a-js/sdk', '0.2.5', 'server', 'JSONRPC 0.2'], () => cli(running.v02.url, 'JSONRPC', '0.2'));
for (const binding of bindings) {
  // Its REST answers 500 and no reason where a stream fails at once, its gRPC
  // has one status for several errors and no null.
  const quirks = { ...proto(binding), plainErrors: binding !== 'JSONRPC', noNull: binding === 'GRPC' && 'at all' };
  suite(['@a2a-js/sdk', '0.3.14', 'server', `${binding} 0.3`], () => cli(running.v03.url, binding, '0.3', quirks));
}
for (const binding of bindings) {
  suite(['@a2a-js/sdk', '1.3.0', 'server', `${binding} 1.0`], () => cli(running.v10.url, binding, '1.0'));
}
for (const binding of bindings) {
  // Its layer for 0.3 has the rule of 1.0 for finished tasks.
  const quirks = { ...proto(binding), endedIsError: true };
  suite(['@a2a-js/sdk', '1.3.0', 'server', `${binding} 0.3`], () => cli(running.v10.url, binding, '0.3', quirks));
}
