// The behaviour that every pair shows, whoever is the client. A driver is a
// client in the words below; what it talks to is the demo agent, Parley's own
// or the one of agents.js.
//
//   card()                          → { name, streaming, skills }
//   send(content, where, options)   → { task } or { message }
//   stream(content, where)          → events: { task }, { message }, { status }, { artifact, append, lastChunk }
//   get(id, historyLength)          → task
//   list(contextId)                 → ids; absent where the version has no list
//   cancel(id)                      → task
//   subscribe(id)                   → events
//   push                            of webhooks: set(taskId, config) → id, get(taskId, id) → config, and, where the
//                                   version has them, list(taskId) → ids and remove(taskId, id); absent: not tested
//
// A config is { id, url, token, scheme, credentials }; it goes along with a
// message as options.push.
//
// A task is { id, contextId, state, text, artifacts, history }; a part one of
// { text }, { raw, mediaType, filename }, { url, … }, { data }, raw in base64.
// A call that fails rejects with an error whose `kind` says what is wrong.
//
// driver.version is the version on the wire. driver.quirks is what the SDK on
// the other side is known not to do, and no one can help it:
//
//   noFilename     its parts have no file name
//   noNull         null inside data becomes 0 when it reads it; 'at all': it cannot write it either
//   objectsOnly    its data is an object or is wrapped in one for good
//   noAppend       it reads every chunk as one that begins an artifact
//   endedIsError   it answers with an error who subscribes to a finished task
//   plainErrors    it does not say why a stream or a message is refused

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { appendFileSync } from 'node:fs';
import { randomBytes, randomUUID } from 'node:crypto';
import { v0, v1 } from './models.js';
import { receive } from './receiver.js';
import * as transcript from './transcript.js';

const timeout = 20_000;

// suite runs all checks with the driver that open resolves to. row is what the
// table says of the pair: [package, version, role, binding].
export function suite(row, open) {
  describe(row.join(' '), () => {
    let driver;
    let passed = 0;
    before(async () => {
      transcript.clear();
      try {
        driver = await open();
        driver.quirks ??= {};
      } catch (err) {
        console.log(transcript.text());
        throw err;
      }
    }, { timeout: 300_000 }); // a cold build of the binary
    const applicable = () => checks.filter(([, , when]) => !when || !driver || when(driver)).length;
    after(async () => {
      if (process.env.INTEROP_TABLE) {
        appendFileSync(process.env.INTEROP_TABLE, [...row, `${passed}/${applicable()}`].join('\t') + '\n');
      }
      await driver?.close?.();
    });
    for (const [title, check, when] of checks) {
      it(title, { timeout }, async (t) => {
        assert.ok(driver, 'there is no connection');
        if (when && !when(driver)) {
          t.skip('not in this version');
          return;
        }
        transcript.clear();
        try {
          await check(driver);
        } catch (err) {
          console.log(`${row.join(' ')}: ${title}\n${transcript.text()}`);
          throw err;
        }
        passed++;
      });
    }
  });
}

const checks = [
  ['card', async (d) => {
    const card = await d.card();
    assert.ok(card.name);
    assert.equal(card.streaming, true);
    assert.ok(card.skills > 0);
  }],

  ['send, and wait', async (d) => {
    const { task } = await d.send('echo héllo, 世界 🌍 <&>');
    assert.equal(task.state, 'completed');
    assert.deepEqual(artifactTexts(task), ['héllo, 世界 🌍 <&>']);
    assert.equal(task.artifacts[0].name, 'echo');
    assert.ok(task.id && task.contextId && task.artifacts[0].id);
  }],

  ['send, and do not wait', async (d) => {
    const { task } = await d.send('sleep 60', {}, { immediately: true });
    assert.ok(['submitted', 'working'].includes(task.state), task.state);
    await d.cancel(task.id);
  }],

  ['a direct message', async (d) => {
    const { message } = await soon(() => d.send('message good morning'), (answer) => answer.message);
    assert.equal(message.role, 'agent');
    assert.deepEqual(message.parts, [{ text: 'good morning' }]);
    assert.ok(message.id && message.contextId);
  }],

  ['a direct message in a stream', async (d) => {
    const events = await soon(() => all(d.stream('message only this')), (events) => events.length === 1);
    assert.equal(events.length, 1);
    assert.deepEqual(events[0].message.parts, [{ text: 'only this' }]);
  }],

  ['a stream of chunks', async (d) => {
    const events = await all(d.stream('stream 5 10'));
    const begun = events[0].task;
    assert.ok(begun, 'a stream begins with the task');
    assert.ok(['submitted', 'working'].includes(begun.state), begun.state);
    const chunks = events.filter((e) => e.artifact);
    assert.deepEqual(chunks.map((c) => c.artifact.parts), [1, 2, 3, 4, 5].map((n) => [{ text: `chunk ${n}\n` }]));
    if (!d.quirks.noAppend) assert.deepEqual(chunks.map((c) => c.append), [false, true, true, true, true]);
    assert.deepEqual(chunks.map((c) => c.lastChunk), [false, false, false, false, true]);
    assert.equal(new Set(chunks.map((c) => c.artifact.id)).size, 1);
    assert.equal(events.at(-1).status?.state, 'completed');

    const task = await d.get(begun.id);
    assert.equal(artifactTexts(task).join(''), 'chunk 1\nchunk 2\nchunk 3\nchunk 4\nchunk 5\n');
  }],

  ['files from the agent', async (d) => {
    const { task: file } = await d.send('file');
    assert.deepEqual(file.artifacts[0].parts, known(d, [
      { raw: 'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAQMAAABJtOi3AAAAA1BMVEUrVsmdOxQdAAAADElEQVR42mNgGNwAAACgAAGO+7G0AAAAAElFTkSuQmCC', mediaType: 'image/png', filename: 'pixel.png' },
      { url: 'https://example.com/report.pdf', mediaType: 'application/pdf', filename: 'report.pdf' },
    ]));
  }],

  ['data from the agent', async (d) => {
    const { task: data } = await d.send('data');
    assert.deepEqual(data.artifacts[0].parts, [{
      data: { answer: 42, ok: true, list: [1, 'two', d.quirks.noNull ? 0 : null], nested: { pi: 3.5, text: 'héllo' } },
    }]);
  }, (d) => d.quirks.noNull !== 'at all'],

  ['files and data to the agent, read back', async (d) => {
    const parts = [
      { text: 'ask where to?' },
      { raw: randomBytes(257).toString('base64'), mediaType: 'application/octet-stream', filename: 'some.bin' },
      { url: 'https://example.com/a.pdf', mediaType: 'application/pdf', filename: 'a.pdf' },
      { data: { a: [1, { b: d.quirks.noNull ? true : null }], 'ü': 'x' } },
    ];
    const { task } = await d.send(parts);
    assert.deepEqual((await d.get(task.id, 10)).history[0].parts, known(d, parts));
  }],

  ['data that is no object', async (d) => {
    const parts = [{ text: 'ask again?' }, { data: [1, 'two', null] }, { data: 'three' }, { data: 4.5 }];
    const { task } = await d.send(parts);
    assert.deepEqual((await d.get(task.id, 10)).history[0].parts, parts);
  }, (d) => !d.quirks.objectsOnly],

  ['a file of 1 MiB, there and back', async (d) => {
    const raw = randomBytes(1 << 20).toString('base64');
    const { task } = await d.send([
      { text: 'ask for more?' },
      { raw, mediaType: 'application/octet-stream', filename: 'big.bin' },
    ]);
    const [, part] = (await d.get(task.id, 10)).history[0].parts;
    assert.ok(part.raw === raw, 'the bytes differ');
  }],

  ['input-required, and on', async (d) => {
    const { task: asked } = await d.send('ask Which city?');
    assert.equal(asked.state, 'input-required');
    assert.equal(asked.text, 'Which city?');
    const { task: done } = await d.send('Bremen', { taskId: asked.id, contextId: asked.contextId });
    assert.equal(done.id, asked.id);
    assert.equal(done.contextId, asked.contextId);
    assert.equal(done.state, 'completed');
    assert.deepEqual(artifactTexts(done), ['Bremen']);
  }],

  ['input-required, by stream', async (d) => {
    const first = await all(d.stream('ask Which city?'));
    const id = first[0].task.id;
    assert.equal(stateOf(first.at(-1)), 'input-required');
    const second = await all(d.stream('Bremen', { taskId: id, contextId: first[0].task.contextId }));
    assert.equal(stateOf(second.at(-1)), 'completed');
    assert.deepEqual(artifactTexts(await d.get(id)), ['Bremen']);
  }],

  ['auth-required, and on', async (d) => {
    const { task: asked } = await d.send('auth');
    assert.equal(asked.state, 'auth-required');
    const { task: done } = await d.send('here you are', { taskId: asked.id, contextId: asked.contextId });
    assert.equal(done.state, 'completed');
    assert.deepEqual(artifactTexts(done), ['authorized']);
  }],

  ['failed and rejected', async (d) => {
    const { task: failed } = await d.send('fail out of paper');
    assert.deepEqual([failed.state, failed.text], ['failed', 'out of paper']);
    const { task: rejected } = await d.send('reject not today');
    assert.deepEqual([rejected.state, rejected.text], ['rejected', 'not today']);
  }],

  ['get, with a history of one', async (d) => {
    const { task: asked } = await d.send('ask Which city?');
    await d.send('Bremen', { taskId: asked.id, contextId: asked.contextId });
    const task = await d.get(asked.id, 1);
    assert.equal(task.state, 'completed');
    assert.equal(task.history.length, 1);
    assert.deepEqual((await d.get(asked.id, 10)).history[0].parts, [{ text: 'ask Which city?' }]);
  }],

  ['a second task of a context, and the list of both', async (d) => {
    const { task: first } = await d.send('echo one');
    const { task: second } = await d.send('echo two', { contextId: first.contextId });
    assert.equal(second.contextId, first.contextId);
    assert.notEqual(second.id, first.id);
    if (d.list) assert.deepEqual((await d.list(first.contextId)).toSorted(), [first.id, second.id].toSorted());
  }],

  ['subscribe while it runs', async (d) => {
    let task, events;
    // On a busy machine a short task has ended before anybody subscribes to it.
    for (const pause of [50, 500, 5000]) {
      ({ task } = await d.send(`stream 8 ${pause}`, {}, { immediately: true }));
      events = await all(d.subscribe(task.id)).catch((err) => {
        if (pause === 5000) throw err;
      });
      if (events) break;
    }
    assert.equal(events[0].task?.id, task.id, 'a subscription begins with the task');
    assert.equal(stateOf(events.at(-1)), 'completed');
    // What the task held at first and what came after it is the whole.
    const text = artifactTexts(events[0].task).join('') +
      events.filter((e) => e.artifact).map((e) => e.artifact.parts[0].text).join('');
    assert.equal(text, [1, 2, 3, 4, 5, 6, 7, 8].map((n) => `chunk ${n}\n`).join(''));
  }],

  ['subscribe when it is finished', async (d) => {
    const { task } = await d.send('echo done');
    if (d.version >= '1' || d.quirks.endedIsError) {
      await fails('UnsupportedOperation', all(d.subscribe(task.id)));
      return;
    }
    const events = await all(d.subscribe(task.id));
    assert.ok(events.length >= 1);
    assert.equal(stateOf(events.at(-1)), 'completed');
  }],

  ['cancel, with a subscriber watching', async (d) => {
    const { task } = await d.send('sleep 60', {}, { immediately: true });
    const watch = d.subscribe(task.id);
    const { value: opening } = await watch.next();
    assert.equal(opening.task?.id, task.id);
    const watched = all(watch);
    assert.equal((await d.cancel(task.id)).state, 'canceled');
    assert.equal(stateOf((await watched).at(-1)), 'canceled');
    assert.equal((await d.get(task.id)).state, 'canceled');
  }],

  ['a webhook that is set, and removed', async (d) => {
    const { task } = await d.send('ask Which city?');
    const hook = await newHook(d);
    try {
      const id = await d.push.set(task.id, hook.config);
      const shown = await d.push.get(task.id, id);
      assert.equal(shown.url, hook.config.url);
      assert.ok(!shown.credentials, 'credentials are shown');
      await d.send('Bremen', { taskId: task.id, contextId: task.contextId });
      await hook.completes(task.id, 'Bremen');
      if (!d.push.list) return;
      assert.deepEqual(await d.push.list(task.id), [id]);
      await d.push.remove(task.id, id);
      assert.deepEqual(await d.push.list(task.id), []);
    } finally {
      hook.close();
    }
  }, (d) => d.push],

  ['a webhook that comes with a message', async (d) => {
    const hook = await newHook(d);
    try {
      const { task } = await d.send('stream 3 10', {}, { push: hook.config });
      await hook.completes(task.id, 'chunk 1\nchunk 2\nchunk 3\n');
    } finally {
      hook.close();
    }
  }, (d) => d.push],

  ['errors', async (d) => {
    const { task } = await d.send('echo done');
    await fails('TaskNotFound', d.get(randomUUID()));
    await fails('TaskNotFound', d.cancel(randomUUID()));
    await fails('TaskNotCancelable', d.cancel(task.id));
    await fails(d.quirks.plainErrors ? null : 'any', d.send('again', { taskId: task.id, contextId: task.contextId }));
    await fails(d.quirks.plainErrors ? null : 'TaskNotFound', all(d.subscribe(randomUUID())));
  }],
];

// all drains a stream, and writes it down.
// soon makes a call until its answer is as it is from a quick agent: one that needs more
// than 100 ms, as on a busy machine, is given a task.
async function soon(call, quick) {
  let answer = await call();
  for (let n = 1; n < 10 && !quick(answer); n++) answer = await call();
  return answer;
}

async function all(stream) {
  const events = [];
  for await (const event of stream) {
    transcript.say('<', event);
    events.push(event);
  }
  assert.ok(events.length > 0, 'the stream is empty');
  return events;
}

// newHook is a receiver with a configuration for it. In 0.x it leaves the
// credentials to the agent: a JWT.
async function newHook(d) {
  const old = d.version < '1';
  const token = randomUUID();
  const credentials = old ? undefined : randomUUID();
  const receiver = await receive(d.push.agent, { token, credentials, jwt: old });
  return {
    config: { id: 'mine', url: receiver.url, token, scheme: 'Bearer', credentials },
    close: receiver.close,
    // Of 1.0 it hears events, of versions before the task as it stands.
    completes: async (taskId, text) => {
      const ids = new Set();
      let heard = '';
      for (let state; state !== 'completed';) {
        const { id, type, json } = await receiver.next();
        assert.ok(!ids.has(id), `${id} came again`);
        ids.add(id);
        if (old) {
          assert.equal(type, 'application/json');
          const task = v0.task(json);
          assert.equal(task.id, taskId);
          [state, heard] = [task.state, artifactTexts(task).join('')];
        } else {
          assert.equal(type, 'application/a2a+json');
          const { statusUpdate, artifactUpdate } = json;
          assert.equal((statusUpdate ?? artifactUpdate).taskId, taskId);
          const event = v1.event(json);
          state = event.status?.state;
          heard += event.artifact?.parts.map((p) => p.text).join('') ?? '';
        }
      }
      assert.equal(heard, text);
    },
  };
}

// fails wants an error of a kind, of any that the protocol knows, or, with
// null, just an error.
async function fails(kind, promise) {
  const err = await promise.then(() => null, (err) => err);
  assert.ok(err, `no error, want ${kind}`);
  transcript.say('!', `${err.kind}: ${err.message}`);
  if (kind === null) return;
  assert.ok(err.kind, `not an error of the protocol: ${err.stack}`);
  if (kind !== 'any') assert.equal(err.kind, kind, err.message);
}

// known is what is left of parts on the other side.
function known(d, parts) {
  if (!d.quirks.noFilename) return parts;
  return parts.map((p) => ('filename' in p ? { ...p, filename: undefined } : p));
}

// artifactTexts lists the text parts of all artifacts, in order.
function artifactTexts(task) {
  return task.artifacts.flatMap((a) => a.parts.map((p) => p.text));
}

function stateOf(event) {
  return event.status?.state ?? event.task?.state;
}
