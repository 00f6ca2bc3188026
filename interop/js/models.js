// The two shapes in which the SDKs hold the model, and the one of the suite.

// codes says what the codes of JSON-RPC errors mean.
const codes = {
  '-32001': 'TaskNotFound',
  '-32002': 'TaskNotCancelable',
  '-32004': 'UnsupportedOperation',
  '-32600': 'InvalidRequest',
  '-32602': 'InvalidParams',
};

// kindOf reads what is wrong from an error of any of the SDKs: by its class,
// or by its code.
export function kindOf(err) {
  for (const name of [err?.name, err?.constructor?.name]) {
    const found = name?.match(/^((Task|Unsupported|Push|Content|Invalid|Extended|Request).*)Error$/);
    if (found) return found[1];
  }
  return codes[err?.code ?? err?.errorResponse?.error?.code];
}

// withKind passes a promise on; its error gets a kind.
export async function withKind(promise) {
  try {
    return await promise;
  } catch (err) {
    err.kind ??= kindOf(err);
    throw err;
  }
}

// parts makes a text a list of parts.
export function parts(content) {
  return typeof content === 'string' ? [{ text: content }] : content;
}

const state = (s) => s.replace(/^TASK_STATE_/, '').toLowerCase().replaceAll('_', '-').replace('cancelled', 'canceled');

// v1 is the JSON of 1.0, which is also what the parley command prints.
export const v1 = {
  part: (p) => {
    if (p.text !== undefined) return { text: p.text };
    if (p.data !== undefined) return { data: p.data };
    return p.raw !== undefined
      ? { raw: p.raw, mediaType: p.mediaType, filename: p.filename }
      : { url: p.url, mediaType: p.mediaType, filename: p.filename };
  },
  toPart: (p) => p,
  message: (m) => ({
    id: m.messageId,
    contextId: m.contextId,
    role: m.role.replace(/^ROLE_/, '').toLowerCase(),
    parts: m.parts.map(v1.part),
  }),
  status: (s) => ({ state: state(s.state), text: s.message?.parts?.[0]?.text }),
  artifact: (a) => ({ id: a.artifactId, name: a.name, parts: (a.parts ?? []).map(v1.part) }),
  task: (t) => ({
    id: t.id,
    contextId: t.contextId,
    ...v1.status(t.status),
    artifacts: (t.artifacts ?? []).map(v1.artifact),
    history: (t.history ?? []).map(v1.message),
  }),
  event: (e) => {
    if (e.task) return { task: v1.task(e.task) };
    if (e.message) return { message: v1.message(e.message) };
    if (e.statusUpdate) return { status: v1.status(e.statusUpdate.status) };
    const { artifact, append = false, lastChunk = false } = e.artifactUpdate;
    return { artifact: v1.artifact(artifact), append, lastChunk };
  },
  config: (c) => ({ id: c.id, url: c.url, token: c.token, scheme: c.authentication?.scheme, credentials: c.authentication?.credentials }),
  toConfig: (taskId, c) => ({
    taskId, id: c.id, url: c.url, token: c.token, authentication: { scheme: c.scheme, credentials: c.credentials },
  }),
};

// v0 is the JSON of 0.2 and 0.3, told apart by `kind`.
export const v0 = {
  part: (p) => {
    if (p.kind === 'text') return { text: p.text };
    if (p.kind === 'data') return { data: p.data };
    const { bytes, uri, mimeType, name } = p.file;
    return bytes !== undefined && bytes !== ''
      ? { raw: bytes, mediaType: mimeType, filename: name }
      : { url: uri, mediaType: mimeType, filename: name };
  },
  toPart: (p) => {
    if (p.text !== undefined) return { kind: 'text', text: p.text };
    if (p.data !== undefined) return { kind: 'data', data: p.data };
    const file = { mimeType: p.mediaType, name: p.filename };
    return { kind: 'file', file: p.raw !== undefined ? { ...file, bytes: p.raw } : { ...file, uri: p.url } };
  },
  message: (m) => ({ id: m.messageId, contextId: m.contextId, role: m.role, parts: m.parts.map(v0.part) }),
  status: (s) => ({ state: state(s.state), text: s.message?.parts?.[0]?.text }),
  artifact: (a) => ({ id: a.artifactId, name: a.name, parts: a.parts.map(v0.part) }),
  task: (t) => ({
    id: t.id,
    contextId: t.contextId,
    ...v0.status(t.status),
    artifacts: (t.artifacts ?? []).map(v0.artifact),
    history: (t.history ?? []).map(v0.message),
  }),
  event: (e) => {
    switch (e.kind) {
      case 'task': return { task: v0.task(e) };
      case 'message': return { message: v0.message(e) };
      case 'status-update': return { status: v0.status(e.status), final: e.final };
      case 'artifact-update': {
        const { artifact, append = false, lastChunk = false } = e;
        return { artifact: v0.artifact(artifact), append, lastChunk };
      }
    }
    throw new Error(`an event of no known kind: ${JSON.stringify(e)}`);
  },
  config: ({ pushNotificationConfig: c }) => ({
    id: c.id, url: c.url, token: c.token, scheme: c.authentication?.schemes[0], credentials: c.authentication?.credentials,
  }),
  toConfig: (taskId, c) => ({
    taskId,
    pushNotificationConfig: {
      id: c.id, url: c.url, token: c.token, authentication: { schemes: [c.scheme], credentials: c.credentials },
    },
  }),
};
