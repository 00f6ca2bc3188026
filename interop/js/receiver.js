// A receiver of webhooks in plain Node, as somebody would write one who knows
// Standard Webhooks and JSON Web Tokens and nothing of Parley.

import assert from 'node:assert/strict';
import { createHash, createHmac, createPublicKey, verify } from 'node:crypto';
import { createServer } from 'node:http';
import { say } from './transcript.js';

// receive listens for one configuration's webhooks, of an agent at a base URL.
// expected is { token, credentials }. Without credentials a JWT of the agent is
// wanted where `jwt` is set. next() resolves to what is posted, verified and
// parsed, or rejects.
export async function receive(agent, expected) {
  const keys = (await (await fetch(`${agent}/.well-known/jwks.json`)).json()).keys;
  const posts = [];
  const waiting = [];
  const server = createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    say('hook>', `${req.method} ${req.url} ${JSON.stringify(req.headers)} ${body}`);
    const post = (async () => {
      assert.equal(req.method, 'POST');
      check(req.headers, body, keys, expected);
      return { id: req.headers['webhook-id'], type: req.headers['content-type'], json: JSON.parse(body) };
    })();
    post.then(() => res.writeHead(204).end(), () => res.writeHead(401).end());
    if (waiting.length) waiting.shift()(post);
    else posts.push(post);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/hook`,
    next: () => posts.shift() ?? new Promise((resolve) => waiting.push(resolve)),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function check(headers, body, keys, { token, credentials, jwt }) {
  const { 'webhook-id': id, 'webhook-timestamp': at } = headers;
  const signed = Buffer.concat([Buffer.from(`${id}.${at}.`), body]);
  assert.ok(Math.abs(Date.now() / 1000 - Number(at)) < 300, `sent at ${at}`);
  const signatures = headers['webhook-signature'].split(' ').map((s) => s.split(','));

  const ed25519 = keys.filter((k) => k.kty === 'OKP' && k.crv === 'Ed25519').map(publicKey);
  assert.ok(signatures.some(([version, s]) => version === 'v1a' &&
    ed25519.some((key) => verify(null, signed, key, Buffer.from(s, 'base64')))), 'not signed with a key of the agent');

  const hmac = createHmac('sha256', token).update(signed).digest('base64');
  assert.ok(signatures.some(([version, s]) => version === 'v1' && s === hmac), 'not signed with the token');
  assert.equal(headers['x-a2a-notification-token'], token);

  if (credentials) assert.equal(headers.authorization, `Bearer ${credentials}`);
  if (jwt) checkJWT(headers.authorization, body, keys);
}

// checkJWT does what the receivers of the samples do for 0.2 and 0.3.
function checkJWT(authorization, body, keys) {
  const [scheme, raw] = authorization.split(' ');
  assert.equal(scheme, 'Bearer');
  const [head, payload, signature] = raw.split('.');
  const { alg, kid } = decode(head);
  assert.equal(alg, 'RS256');
  const key = publicKey(keys.find((k) => k.kid === kid));
  assert.ok(verify('sha256', Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url')), 'a bad JWT');
  const claims = decode(payload);
  assert.ok(Math.abs(Date.now() / 1000 - claims.iat) < 300, `issued at ${claims.iat}`);
  const written = JSON.stringify(JSON.parse(body)); // they hash what they read and write again
  assert.equal(claims.request_body_sha256, createHash('sha256').update(written).digest('hex'));
}

function publicKey(key) {
  return createPublicKey({ key, format: 'jwk' });
}

function decode(part) {
  return JSON.parse(Buffer.from(part, 'base64url'));
}
