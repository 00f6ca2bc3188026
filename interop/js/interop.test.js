// The official JavaScript client, unmodified, against a Parley server: what a
// stranger's program sees. Every exchange is printed, so that the output is a
// transcript.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { randomUUID } from 'node:crypto';
import {
  CancelTaskRequest,
  GetTaskRequest,
  ListTasksRequest,
  Message,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
} from '@a2a-js/sdk';
import { AgentCardResolver, ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';
import {
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import { start } from './server.js';

const timeout = 30_000;

let server;
before(async () => {
  server = await start();
}, { timeout: 300_000 }); // a cold build of the binary
after(async () => {
  assert.equal(await server?.stop(), 0, 'the server ends cleanly on SIGTERM');
});

it('fetches the card', { timeout }, async () => {
  const card = await AgentCardResolver.default.resolve(server.url);
  say('card', {
    name: card.name,
    version: card.version,
    interfaces: card.supportedInterfaces.map((i) => `${i.protocolBinding} ${i.protocolVersion}`),
    streaming: card.capabilities.streaming,
  });
  assert.ok(card.name);
  assert.equal(card.capabilities.streaming, true);
  const bindings = card.supportedInterfaces.map((i) => i.protocolBinding);
  assert.ok(bindings.includes('JSONRPC') && bindings.includes('HTTP+JSON'), bindings.join());
  assert.ok(card.skills.length >= 11, 'one skill per command of the demo agent');
});

for (const binding of ['JSONRPC', 'HTTP+JSON']) {
  describe(binding, () => {
    let client;
    before(async () => {
      client = await new ClientFactory(
        ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { preferredTransports: [binding] }),
      ).createFromUrl(server.url);
      assert.equal(client.transport.protocolName, binding);
      say('connected', `${client.transport.protocolName} ${client.protocolVersion}`);
    });

    it('sends and waits', { timeout }, async () => {
      const task = await send(client, 'echo héllo, 世界');
      assert.equal(task.status.state, 'TASK_STATE_COMPLETED');
      assert.deepEqual(texts(task), ['héllo, 世界']);
      assert.equal(task.artifacts[0].name, 'echo');
      assert.ok(task.contextId);
    });

    it('gets a direct message', { timeout }, async () => {
      const message = await send(client, 'message good morning');
      assert.equal(message.role, 'ROLE_AGENT');
      assert.equal(message.parts[0].text, 'good morning');
      assert.ok(message.messageId && message.contextId);
    });

    it('gets files and data', { timeout }, async () => {
      const file = await send(client, 'file');
      const [raw, url] = file.artifacts[0].parts;
      assert.deepEqual([raw.raw, raw.mediaType, raw.filename], ['iVBORw0KGgo=', 'image/png', 'pixel.png']);
      assert.deepEqual([url.url, url.mediaType], ['https://example.com/report.pdf', 'application/pdf']);
      const data = await send(client, 'data');
      assert.deepEqual(data.artifacts[0].parts[0].data, {
        answer: 42, ok: true, list: [1, 'two', null], nested: { pi: 3.5, text: 'héllo' },
      });
    });

    it('streams', { timeout }, async () => {
      const events = await drain(client.sendMessageStream(request('stream 5 20')));
      assert.ok(events[0].task, 'a stream begins with the task');
      const chunks = events.flatMap((e) => e.artifactUpdate ?? []);
      assert.deepEqual(chunks.map((c) => c.artifact.parts[0].text), [1, 2, 3, 4, 5].map((n) => `chunk ${n}\n`));
      assert.deepEqual(chunks.map((c) => c.append ?? false), [false, true, true, true, true]);
      assert.deepEqual(chunks.map((c) => c.lastChunk ?? false), [false, false, false, false, true]);
      assert.equal(events.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED');

      const task = await get(client, events[0].task.id);
      assert.deepEqual(texts(task), chunks.map((c) => c.artifact.parts[0].text));
    });

    it('streams a direct message', { timeout }, async () => {
      const events = await drain(client.sendMessageStream(request('message only this')));
      assert.equal(events.length, 1);
      assert.equal(events[0].message.parts[0].text, 'only this');
    });

    it('goes on after input-required', { timeout }, async () => {
      const asked = await send(client, 'ask Which city?');
      assert.equal(asked.status.state, 'TASK_STATE_INPUT_REQUIRED');
      assert.equal(asked.status.message.parts[0].text, 'Which city?');
      const done = await send(client, 'Bremen', { taskId: asked.id, contextId: asked.contextId });
      assert.equal(done.id, asked.id);
      assert.equal(done.status.state, 'TASK_STATE_COMPLETED');
      assert.deepEqual(texts(done), ['Bremen']);
    });

    it('goes on after auth-required, by stream', { timeout }, async () => {
      const asked = await send(client, 'auth');
      assert.equal(asked.status.state, 'TASK_STATE_AUTH_REQUIRED');
      const events = await drain(client.sendMessageStream(request('here you are', { taskId: asked.id })));
      assert.equal(events[0].task.id, asked.id);
      assert.equal(events.at(-1).statusUpdate.status.state, 'TASK_STATE_COMPLETED');
    });

    it('gets and lists', { timeout }, async () => {
      const first = await send(client, 'echo one');
      const second = await send(client, 'echo two', { contextId: first.contextId });
      assert.equal(second.contextId, first.contextId);
      assert.notEqual(second.id, first.id);

      const short = await get(client, first.id, 0);
      assert.equal(short.history?.length ?? 0, 0);

      const page = await list(client, { contextId: first.contextId, pageSize: 1 });
      assert.deepEqual(page.tasks.map((t) => t.id), [second.id]);
      assert.equal(page.totalSize, 2);
      assert.ok(page.nextPageToken);
      const last = await list(client, {
        contextId: first.contextId, pageSize: 1, pageToken: page.nextPageToken, includeArtifacts: true,
      });
      assert.deepEqual(last.tasks.map((t) => t.id), [first.id]);
      assert.deepEqual(texts(last.tasks[0]), ['one']);
      assert.equal(last.nextPageToken, '');

      const working = await list(client, { contextId: first.contextId, status: 'TASK_STATE_WORKING' });
      assert.equal(working.totalSize, 0);
    });

    it('cancels, with a subscriber watching', { timeout }, async () => {
      const task = await send(client, 'sleep 600', {}, { returnImmediately: true });
      assert.ok(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING'].includes(task.status.state));

      const watch = client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: task.id }));
      const { value: opening } = await watch.next();
      assert.equal(StreamResponse.toJSON(opening).task.id, task.id);
      const watched = drain(watch);

      say('>', `cancel ${task.id}`);
      const canceled = Task.toJSON(await client.cancelTask(CancelTaskRequest.fromJSON({ id: task.id })));
      say('<', canceled);
      assert.equal(canceled.status.state, 'TASK_STATE_CANCELED');
      assert.equal((await watched).at(-1).statusUpdate.status.state, 'TASK_STATE_CANCELED');
    });

    it('is told what is wrong', { timeout }, async () => {
      const done = await send(client, 'fail out of paper');
      assert.equal(done.status.state, 'TASK_STATE_FAILED');
      assert.equal(done.status.message.parts[0].text, 'out of paper');

      await fails(TaskNotFoundError, client.getTask(GetTaskRequest.fromJSON({ id: randomUUID() })));
      await fails(TaskNotCancelableError, client.cancelTask(CancelTaskRequest.fromJSON({ id: done.id })));
      await fails(UnsupportedOperationError, client.sendMessage(request('again', { taskId: done.id })));
      await fails(UnsupportedOperationError,
        drain(client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: done.id }))));
    });
  });
}

// request makes a SendMessageRequest of one text part.
function request(text, message = {}, configuration = {}) {
  say('>', { text, ...message, ...configuration });
  return SendMessageRequest.fromJSON({
    message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...message },
    configuration,
  });
}

// send waits for the answer and returns it as the JSON it is on the wire.
async function send(client, text, message, configuration) {
  const answer = await client.sendMessage(request(text, message, configuration));
  const json = answer.status ? Task.toJSON(answer) : Message.toJSON(answer);
  say('<', json);
  return json;
}

async function get(client, id, historyLength) {
  say('>', `get ${id}`);
  const task = Task.toJSON(await client.getTask(GetTaskRequest.fromJSON({ id, historyLength })));
  say('<', task);
  return task;
}

async function list(client, filter) {
  say('>', { list: filter });
  const page = await client.listTasks(ListTasksRequest.fromJSON(filter));
  const json = { ...page, tasks: page.tasks.map((t) => Task.toJSON(t)) };
  say('<', { ...json, tasks: json.tasks.map((t) => t.id) });
  return json;
}

async function drain(stream) {
  const events = [];
  for await (const event of stream) {
    events.push(StreamResponse.toJSON(event));
    say('<', events.at(-1));
  }
  return events;
}

async function fails(type, promise) {
  await assert.rejects(promise, (err) => {
    say('!', `${err.name}: ${err.message}`);
    assert.ok(err instanceof type, `${err.name} is not a ${type.name}`);
    return true;
  });
}

// texts lists the text parts of all artifacts, in order.
function texts(task) {
  return task.artifacts.flatMap((a) => a.parts.map((p) => p.text));
}

// say prints one line of the transcript.
function say(mark, what) {
  const line = typeof what === 'string' ? what : JSON.stringify(what);
  console.log(`    ${mark} ${line.length > 400 ? line.slice(0, 400) + ' …' : line}`);
}
