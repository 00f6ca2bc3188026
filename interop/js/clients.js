// The SDK's clients as drivers of the suite. Each finds the agent by its own
// means, from the base URL; nothing of the SDKs is replaced or configured
// beyond the choice of a transport.

import { randomUUID } from 'node:crypto';
import { A2AClient as Client02 } from 'sdk-0.2/client';
import { ClientFactory as Factory03, ClientFactoryOptions as Options03 } from 'sdk-0.3/client';
import { GrpcTransportFactory as Grpc03 } from 'sdk-0.3/client/grpc';
import * as sdk1 from 'sdk-1';
import {
  AgentCardResolver,
  ClientFactory as Factory1,
  ClientFactoryOptions as Options1,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from 'sdk-1/client';
import { GrpcTransportFactory as Grpc1 } from 'sdk-1/client/grpc';
import { parts, v0, v1, withKind } from './models.js';
import { say } from './transcript.js';

// v02 is the client of 0.2, which knows JSON-RPC alone and returns errors
// instead of throwing them.
export async function v02(url) {
  const client = new Client02(url);
  const result = async (what, promise) => {
    say('>', what);
    const answer = await promise;
    say('<', answer);
    if (answer.error) throw Object.assign(new Error(answer.error.message), { code: answer.error.code });
    return answer.result;
  };
  return {
    version: '0.2',
    quirks: { objectsOnly: true },
    card: async () => summary(await client.getAgentCard()),
    ...v0calls({
      send: (params) => result(params, client.sendMessage(params)),
      stream: (params) => client.sendMessageStream(params),
      get: (params) => result(params, client.getTask(params)),
      cancel: (params) => result(params, client.cancelTask(params)),
      subscribe: (params) => client.resubscribeTask(params),
    }),
    push: {
      agent: url,
      set: async (taskId, config) => v0.config(await result(config, client.setTaskPushNotificationConfig(v0.toConfig(taskId, config)))).id ?? taskId,
      get: async (taskId) => v0.config(await result(taskId, client.getTaskPushNotificationConfig({ id: taskId }))),
    },
  };
}

// v03 is the client of 0.3.
export async function v03(url, binding) {
  const client = await new Factory03(Options03.createFrom(Options03.default, {
    transports: [new Grpc03()],
    preferredTransports: [binding],
  })).createFromUrl(url);
  same(client.transport.constructor.name.replace('_', ''), { JSONRPC: 'JsonRpcTransport', 'HTTP+JSON': 'RestTransport', GRPC: 'GrpcTransport' }[binding]);
  const result = async (what, promise) => {
    say('>', what);
    const answer = await promise;
    say('<', answer);
    return answer;
  };
  return {
    version: '0.3',
    quirks: {
      objectsOnly: true,
      noFilename: binding !== 'JSONRPC',
      noAppend: binding !== 'JSONRPC',
      noNull: binding === 'GRPC',
      plainErrors: binding === 'GRPC',
    },
    card: async () => summary(await client.getAgentCard()),
    ...v0calls({
      send: (params) => result(params, client.sendMessage(params)),
      stream: (params) => client.sendMessageStream(params),
      get: (params) => result(params, client.getTask(params)),
      cancel: (params) => result(params, client.cancelTask(params)),
      subscribe: (params) => client.resubscribeTask(params),
    }),
    push: {
      agent: url,
      set: async (taskId, config) => v0.config(await result(config, client.setTaskPushNotificationConfig(v0.toConfig(taskId, config)))).id,
      get: async (taskId, id) => v0.config(await result(id, client.getTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: id }))),
      list: async (taskId) => (await result(taskId, client.listTaskPushNotificationConfig({ id: taskId }))).map((c) => v0.config(c).id),
      remove: (taskId, id) => client.deleteTaskPushNotificationConfig({ id: taskId, pushNotificationConfigId: id }),
    },
  };
}

function v0calls(client) {
  const request = (content, where = {}, options = {}) => ({
    message: { kind: 'message', messageId: randomUUID(), role: 'user', parts: parts(content).map(v0.toPart), ...where },
    configuration: {
      blocking: !options.immediately,
      acceptedOutputModes: [],
      ...(options.push && { pushNotificationConfig: v0.toConfig('', options.push).pushNotificationConfig }),
    },
  });
  return {
    send: async (content, where, options) => v0.event(await withKind(client.send(request(content, where, options)))),
    stream: (content, where) => events(client.stream(request(content, where)), v0.event),
    get: async (id, historyLength) => v0.task(await withKind(client.get({ id, historyLength }))),
    cancel: async (id) => v0.task(await withKind(client.cancel({ id }))),
    subscribe: (id) => events(client.subscribe({ id }), v0.event),
  };
}

// v10 is the newest client, speaking 1.0.
export function v10(url, binding) {
  return newest(url, binding, '1.0');
}

// v10as03 is the newest client with its own compatibility layer, on the
// interfaces of 0.3 that the card has.
export function v10as03(url, binding) {
  return newest(url, binding, '0.3');
}

async function newest(url, binding, version) {
  const legacyCompat = { enabled: version === '0.3' };
  const options = Options1.createFrom(Options1.default, {
    transports: [
      new JsonRpcTransportFactory({ legacyCompat }),
      new RestTransportFactory({ legacyCompat }),
      new Grpc1({ legacyCompat }),
    ],
    preferredTransports: [binding],
  });
  const factory = new Factory1(options);
  let client;
  if (version === '1.0') {
    client = await factory.createFromUrl(url);
  } else {
    const card = await AgentCardResolver.default.resolve(url);
    card.supportedInterfaces = card.supportedInterfaces.filter((i) => i.protocolVersion.startsWith(version));
    client = await factory.createFromAgentCard(card);
  }
  same(client.transport.protocolName, binding);
  say('connected', `${client.transport.constructor.name} ${client.protocolVersion}`);

  const request = (content, where = {}, options = {}) => {
    const json = {
      message: { messageId: randomUUID(), role: 'ROLE_USER', parts: parts(content), ...where },
      configuration: {
        returnImmediately: !!options.immediately,
        ...(options.push && { taskPushNotificationConfig: v1.toConfig('', options.push) }),
      },
    };
    say('>', json);
    return sdk1.SendMessageRequest.fromJSON(json);
  };
  const event = (e) => v1.event(sdk1.StreamResponse.toJSON(e));
  const task = async (promise) => {
    const json = sdk1.Task.toJSON(await withKind(promise));
    say('<', json);
    return v1.task(json);
  };
  return {
    version,
    quirks: version === '0.3' && binding !== 'JSONRPC' ? { objectsOnly: true, noFilename: true, noAppend: true } : {},
    card: async () => summary(await client.getAgentCard()),
    send: async (content, where, options) => {
      const answer = await withKind(client.sendMessage(request(content, where, options)));
      const json = answer.status ? { task: sdk1.Task.toJSON(answer) } : { message: sdk1.Message.toJSON(answer) };
      say('<', json);
      return v1.event(json);
    },
    stream: (content, where) => events(client.sendMessageStream(request(content, where)), event),
    get: (id, historyLength) => task(client.getTask(sdk1.GetTaskRequest.fromJSON({ id, historyLength }))),
    list: version === '1.0' && (async (contextId) => {
      const page = await withKind(client.listTasks(sdk1.ListTasksRequest.fromJSON({ contextId })));
      return page.tasks.map((t) => t.id);
    }),
    cancel: (id) => task(client.cancelTask(sdk1.CancelTaskRequest.fromJSON({ id }))),
    push: {
      agent: url,
      set: async (taskId, config) => {
        const json = v1.toConfig(taskId, config);
        say('>', json);
        return (await withKind(client.createTaskPushNotificationConfig(sdk1.TaskPushNotificationConfig.fromJSON(json)))).id;
      },
      get: async (taskId, id) => v1.config(await withKind(client.getTaskPushNotificationConfig(
        sdk1.GetTaskPushNotificationConfigRequest.fromJSON({ taskId, id })))),
      list: async (taskId) => (await withKind(client.listTaskPushNotificationConfig(
        sdk1.ListTaskPushNotificationConfigsRequest.fromJSON({ taskId })))).configs.map((c) => c.id),
      remove: (taskId, id) => withKind(client.deleteTaskPushNotificationConfig(
        sdk1.DeleteTaskPushNotificationConfigRequest.fromJSON({ taskId, id }))),
    },
    subscribe: (id) => events(client.resubscribeTask(sdk1.SubscribeToTaskRequest.fromJSON({ id })), event),
  };
}

async function* events(stream, event) {
  try {
    for await (const e of stream) yield event(e);
  } catch (err) {
    // What fails inside a stream of 0.x has its code in the text alone.
    const [, code] = err.message.match(/\(Code: (-\d+)\)/) ?? [];
    if (code) err.code = Number(code);
    await withKind(Promise.reject(err));
  }
}

function summary(card) {
  say('<', card);
  return { name: card.name, streaming: card.capabilities.streaming, skills: card.skills.length };
}

function same(got, want) {
  if (got !== want) throw new Error(`the SDK chose ${got}, not ${want}`);
}
