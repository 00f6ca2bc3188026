// Servers made with the SDK as its documentation says, each with the agent of
// script.js. Every function resolves to { url, stop }.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as grpc from '@grpc/grpc-js';
import express from 'express';
import * as server02 from 'sdk-0.2/server';
import * as server03 from 'sdk-0.3/server';
import * as express03 from 'sdk-0.3/server/express';
import * as grpc03 from 'sdk-0.3/server/grpc';
import * as sdk1 from 'sdk-1';
import * as server1 from 'sdk-1/server';
import * as express1 from 'sdk-1/server/express';
import * as grpc1 from 'sdk-1/server/grpc';
import * as compat from 'sdk-1/compat/v0_3/server/grpc';
import { v0 } from './models.js';
import { script } from './script.js';
import { say, watchExpress } from './transcript.js';

const about = {
  name: 'A foreign agent',
  description: 'Answers as the demo agent does.',
  version: '1.0.0',
  capabilities: { streaming: true, pushNotifications: false },
  defaultInputModes: ['text/plain', 'application/octet-stream', 'application/pdf', 'application/json'],
  defaultOutputModes: ['text/plain', 'application/octet-stream', 'application/json'],
  skills: [{ id: 'echo', name: 'Echo', description: 'Says it again.', tags: ['test'], examples: ['echo hello'] }],
};

// v02 serves JSON-RPC, the one binding of 0.2.
export function v02() {
  return listen((app, url) => {
    const handler = new server02.DefaultRequestHandler(
      { ...about, protocolVersion: '0.2.5', url },
      new server02.InMemoryTaskStore(),
      executor0(),
    );
    new server02.A2AExpressApp(handler).setupRoutes(app);
  });
}

// v03 serves the three bindings of 0.3.
export function v03() {
  return listen((app, url, grpcServer, grpcAddress) => {
    const requestHandler = new server03.DefaultRequestHandler(
      {
        ...about,
        protocolVersion: '0.3.0',
        url: `${url}/rpc`,
        preferredTransport: 'JSONRPC',
        additionalInterfaces: [
          { url: `${url}/rpc`, transport: 'JSONRPC' },
          { url: `${url}/rest`, transport: 'HTTP+JSON' },
          { url: grpcAddress, transport: 'GRPC' },
        ],
      },
      new server03.InMemoryTaskStore(),
      executor0(),
    );
    const userBuilder = express03.UserBuilder.noAuthentication;
    app.use('/.well-known/agent-card.json', express03.agentCardHandler({ agentCardProvider: requestHandler }));
    app.use('/rpc', express03.jsonRpcHandler({ requestHandler, userBuilder }));
    app.use('/rest', express03.restHandler({ requestHandler, userBuilder }));
    grpcServer.addService(grpc03.A2AService, grpc03.grpcService({
      requestHandler,
      userBuilder: grpc03.UserBuilder.noAuthentication,
    }));
  });
}

// v10 serves the three bindings of 1.0 and, with the SDK's compatibility
// layer, those of 0.3 beside them.
export function v10() {
  const legacyCompat = { enabled: true };
  return listen((app, url, grpcServer, grpcAddress) => {
    const interfaces = [
      { url: `${url}/rpc`, protocolBinding: 'JSONRPC' },
      { url: `${url}/rest`, protocolBinding: 'HTTP+JSON' },
      { url: grpcAddress, protocolBinding: 'GRPC' },
    ];
    const requestHandler = new server1.DefaultRequestHandler(
      sdk1.AgentCard.fromJSON({
        ...about,
        supportedInterfaces: ['1.0', '0.3'].flatMap((protocolVersion) =>
          interfaces.map((i) => ({ ...i, protocolVersion, tenant: '' }))),
      }),
      new server1.InMemoryTaskStore(),
      executor1(),
    );
    const userBuilder = express1.UserBuilder.noAuthentication;
    app.use('/.well-known/agent-card.json', express1.agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }));
    app.use('/rpc', express1.jsonRpcHandler({ requestHandler, userBuilder, legacyCompat }));
    app.use('/rest', express1.restHandler({ requestHandler, userBuilder, legacyCompat }));
    const options = { requestHandler, userBuilder: grpc1.UserBuilder.noAuthentication };
    grpcServer.addService(grpc1.A2AService, grpc1.grpcService(options));
    grpcServer.addService(compat.LegacyA2AService, compat.legacyGrpcService(options));
  });
}

// listen opens both ports first, because the card names them.
async function listen(setUp) {
  const app = express();
  app.use(express.json({ limit: '16mb', type: ['application/json', 'application/a2a+json'] }), watchExpress);
  app.use((req, res, next) => {
    req._body = true; // says to the parser of 0.2, which is of an older express, that the body is read
    next();
  });
  const http = await new Promise((resolve, reject) => {
    const s = app.listen(0, '127.0.0.1', (err) => (err ? reject(err) : resolve(s)));
  });
  const grpcServer = new grpc.Server();
  const grpcPort = await new Promise((resolve, reject) => {
    grpcServer.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (err, port) =>
      (err ? reject(err) : resolve(port)));
  });
  const url = `http://127.0.0.1:${http.address().port}`;
  setUp(app, url, grpcServer, `127.0.0.1:${grpcPort}`);
  return {
    url,
    stop: () => {
      http.close();
      http.closeAllConnections();
      grpcServer.forceShutdown();
    },
  };
}

// executor0 runs the script for 0.2 and 0.3, whose events are plain objects
// with a kind.
function executor0() {
  return executor({
    text: (context) => context.userMessage.parts.find((p) => p.kind === 'text')?.text ?? '',
    begin: (context) => !context.task && {
      kind: 'task',
      id: context.taskId,
      contextId: context.contextId,
      status: { state: 'submitted', timestamp: new Date().toISOString() },
      history: [context.userMessage],
      artifacts: [],
    },
    message: (text, { taskId, contextId }) => ({
      kind: 'message', role: 'agent', messageId: randomUUID(), parts: [{ kind: 'text', text }], contextId,
      ...(taskId && { taskId }),
    }),
    status: (state, message, ids) => ({
      kind: 'status-update',
      ...ids,
      status: { state, timestamp: new Date().toISOString(), ...(message && { message }) },
      final: !['submitted', 'working'].includes(state),
    }),
    artifact: ({ artifact, append, lastChunk }, ids) => ({
      kind: 'artifact-update', ...ids, artifact: { ...artifact, parts: artifact.parts.map(v0.toPart) }, append, lastChunk,
    }),
  });
}

// executor1 runs the script for 1.0, whose events are protobuf objects.
function executor1() {
  const state = (s) => `TASK_STATE_${s.toUpperCase().replace('-', '_')}`;
  const { AgentEvent } = server1;
  return executor({
    text: (context) => sdk1.Message.toJSON(context.userMessage).parts.find((p) => p.text !== undefined)?.text ?? '',
    begin: (context) => AgentEvent.task(context.task ?? sdk1.Task.fromJSON({
      id: context.taskId,
      contextId: context.contextId,
      status: { state: state('submitted'), timestamp: new Date().toISOString() },
      history: [sdk1.Message.toJSON(context.userMessage)],
    })),
    message: (text, { taskId, contextId }) => AgentEvent.message(sdk1.Message.fromJSON({
      role: 'ROLE_AGENT', messageId: randomUUID(), parts: [{ text }], contextId, taskId,
    })),
    status: (s, message, ids) => AgentEvent.statusUpdate(sdk1.TaskStatusUpdateEvent.fromJSON({
      ...ids,
      status: {
        state: state(s),
        timestamp: new Date().toISOString(),
        ...(message && { message: sdk1.Message.toJSON(message.data) }),
      },
    })),
    artifact: (update, ids) => AgentEvent.artifactUpdate(sdk1.TaskArtifactUpdateEvent.fromJSON({ ...ids, ...update })),
  });
}

function executor(make) {
  const running = new Map(); // task id → { abort, ids }
  return {
    execute: async (context, bus) => {
      const ids = { taskId: context.taskId, contextId: context.contextId };
      const text = make.text(context);
      say('agent:', `runs ${JSON.stringify(text.slice(0, 100))} for ${ids.taskId}`);
      const abort = new AbortController();
      running.set(ids.taskId, { abort, ids });
      try {
        let begun = false;
        for await (const event of script(text, waiting(context.task), abort.signal)) {
          if (event.message !== undefined) {
            bus.publish(make.message(event.message, { contextId: ids.contextId }));
            break;
          }
          if (!begun) {
            begun = true;
            const task = make.begin(context);
            if (task) bus.publish(task);
          }
          bus.publish(event.status
            ? make.status(event.status, event.text && make.message(event.text, ids), ids)
            : make.artifact(event, ids));
        }
      } finally {
        running.delete(ids.taskId);
      }
      if (!abort.signal.aborted) bus.finished();
    },
    cancelTask: async (taskId, bus) => {
      say('agent:', `cancels ${taskId}`);
      const { abort, ids } = running.get(taskId) ?? {};
      abort?.abort();
      bus.publish(make.status('canceled', null, ids));
      await sleep(10); // for 0.2, which reads the task without waiting for the event
      bus.finished();
    },
  };
}

// waiting says what a task waits for, as its last status tells.
function waiting(task) {
  const state = task?.status?.state;
  if (state === undefined) return undefined;
  const name = typeof state === 'string' ? state : sdk1.taskStateToJSON(state);
  return name.replace('TASK_STATE_', '').toLowerCase().replace('_', '-');
}
