// Cards signed here verify with the SDK, and the other way round.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { generateAgentCardSignature, verifyAgentCardSignature } from 'sdk-1';
import { AgentCardResolver } from 'sdk-1/client';
import { command, scratch, serve } from './parley.js';

// No member is empty: those the SDK leaves out of what it signs, REQUIRED or
// not, so that §8.4.1 and it agree on the others only.
const card = {
  name: 'Grüßer 🎈', description: 'Greets\u2028"you".', version: '1',
  supportedInterfaces: [{ url: 'https://a.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  provider: { url: 'https://a.example/', organization: 'A' },
  documentationUrl: 'https://a.example/docs',
  capabilities: {
    streaming: false, pushNotifications: true,
    extensions: [{ uri: 'https://x.example/', params: { n: 1.5, big: 1e21, small: 1e-7, zero: 0, '\ufb33': [true], '😀': { no: false } } }],
  },
  securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } } },
  defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
  skills: [{ id: 'g', name: 'Greet', description: 'Greets.', tags: ['t'], examples: ['hello'] }],
};

console.debug = () => {}; // where the SDK tells of signatures that fail, as some must here

const file = (name) => join(scratch, name);

// parley runs a command and resolves to what it printed.
async function parley(args, input, status = 0) {
  const run = command(args, input);
  let out = '';
  for await (const line of run.lines) out += `${line}\n`;
  assert.equal(await run.code, status, run.log());
  return out;
}

for (const alg of ['ES256', 'EdDSA', 'RS256']) {
  const options = { timeout: 300_000 }; // a cold build of the binary

  test(`a card signed by parley with ${alg} verifies with the SDK`, options, async () => {
    const key = file(`own-${alg}.json`);
    const { keys } = JSON.parse(await parley(['card', 'keygen', '--alg', alg, '--out', key]));
    // What the protocol does not know is served along with it and not signed.
    const signed = JSON.parse(await parley(['card', 'sign', '--key', key], JSON.stringify({ ...card, url: 'https://old.example/' })));
    const verify = verifyAgentCardSignature(async (kid) => keys.find((k) => k.kid === kid));
    await verify(signed);
    await assert.rejects(verify({ ...signed, name: 'Another' }));
  });

  test(`a card signed by the SDK with ${alg} verifies with parley`, options, async () => {
    const kinds = { ES256: ['ec', { namedCurve: 'P-256' }], EdDSA: ['ed25519'], RS256: ['rsa', { modulusLength: 2048 }] };
    const { privateKey, publicKey } = generateKeyPairSync(...kinds[alg]);
    const keys = file(`sdk-${alg}.json`);
    writeFileSync(keys, JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k' }] }));
    const signed = await generateAgentCardSignature(privateKey, { alg, kid: 'k', typ: 'JOSE' })(card);
    assert.match(await parley(['card', 'verify', '--jwks', keys, '-'], JSON.stringify(signed)), /k: holds/);
    await parley(['card', 'verify', '--jwks', keys, '-'], JSON.stringify({ ...signed, name: 'Another' }), 1);

    // With an empty member the SDK signs what only it calls the card.
    const empty = JSON.stringify(await generateAgentCardSignature(privateKey, { alg, kid: 'k', typ: 'JOSE' })({ ...card, description: '' }));
    await parley(['card', 'verify', '--jwks', keys, '-'], empty, 1);
    assert.match(await parley(['card', 'verify', '--stripped', '--jwks', keys, '-'], empty), /k: holds/);
  });
}

// Each card of a server that wants credentials has empty members: requirements
// without scopes. So there is a signature for the SDK beside that of §8.4.1.
test('the card of parley serve verifies with the SDK, as it is served', { timeout: 300_000 }, async (t) => {
  const files = ['ES256', 'EdDSA'].map((alg) => file(`serve-${alg}.json`));
  for (const [i, alg] of ['ES256', 'EdDSA'].entries()) await parley(['card', 'keygen', '--alg', alg, '--out', files[i]]);
  const jwks = file('tokens.json');
  writeFileSync(jwks, await parley(['card', 'keygen', '--out', file('tokens-key.json')]));
  const args = [
    '--public-url', 'https://agent.example', '--card-key', files[0], '--card-key', files[1],
    '--jwks', jwks, '--jwt-issuer', 'https://issuer.example', '--jwt-audience', 'agent', '--allow-anonymous',
  ];
  const at = '/.well-known/agent-card-keys.json';
  const judge = (url) => verifyAgentCardSignature(async (kid, jku) => {
    assert.equal(jku, `https://agent.example${at}`);
    const { keys } = await (await fetch(url + at)).json();
    return keys.find((k) => k.kid === kid);
  });

  const { url, stop } = await serve(args);
  t.after(stop);
  for (const [what, headers] of [['1.0', { 'A2A-Version': '1.0' }], ['0.3', { 'A2A-Version': '0.3' }], ['all', {}]]) {
    for (const path of ['agent-card.json', 'agent.json']) {
      const card = await (await fetch(`${url}/.well-known/${path}`, { headers })).json();
      assert.equal(card.signatures.length, 4, what);
      await judge(url)(card);
      await assert.rejects(judge(url)({ ...card, name: 'Another' }));
      // What older versions have besides is not covered, and not what 1.0 reads.
      await judge(url)({ ...card, url: 'https://another.example' });
    }
  }
  // The SDK's own way to cards gives security schemes a form that its own
  // verification reads as none: who verifies has to fetch the document.
  const resolved = await AgentCardResolver.default.resolve(url);
  assert.equal(resolved.signatures.length, 4);
  await assert.rejects(judge(url)(resolved));

  const strict = await serve([...args, '--card-strict']);
  t.after(strict.stop);
  const card = await (await fetch(`${strict.url}/.well-known/agent-card.json`)).json();
  assert.equal(card.signatures.length, 2);
  await assert.rejects(judge(strict.url)(card));
});
