// The parley command as a driver of the suite: one process for each call.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { command, scratch } from './parley.js';
import { parts, v1 } from './models.js';
import { say } from './transcript.js';

// cli drives the agent at url over one binding, in one version. quirks are
// those of the agent's SDK.
export function cli(url, binding, version, quirks) {
  const common = ['-a', url, '--transport', binding, '--a2a-version', version, '-o', 'json', '--debug', '--timeout', '20s'];

  // chosen makes sure that what was asked for is what was spoken: the client
  // may fall back, and would hide that the binding does not work.
  function chosen(log) {
    const [, was] = log.match(/"chose an interface" (binding=\S+ version=\S+)/) ?? [];
    assert.equal(was, `binding=${binding} version=${version}`);
    assert.doesNotMatch(log, /fall(s|ing)? back/i);
  }

  // events runs a command that prints a line of JSON for each event.
  async function* events(args, input) {
    const run = command([...args, ...common, '--stream'], input);
    try {
      for await (const line of run.lines) {
        if (line.trim() === '') continue;
        say('parley<', line);
        const json = JSON.parse(line);
        if (json.error) throw failure(json.error);
        yield v1.event(json);
      }
      const code = await run.code;
      chosen(run.log());
      if (code !== 0) throw new Error(`parley ended with status ${code}`);
    } finally {
      run.stop();
    }
  }

  // answer runs a command that prints one JSON text.
  async function answer(args, input) {
    const run = command([...args, ...common], input);
    let text = '';
    for await (const line of run.lines) text += `${line}\n`;
    const code = await run.code;
    assert.notEqual(text, '', `parley printed nothing and ended with status ${code}`);
    const json = JSON.parse(text);
    say('parley<', json);
    if (args[0] !== 'card') chosen(run.log());
    if (json.error) {
      assert.notEqual(code, 0, 'an error has a status');
      throw failure(json.error);
    }
    assert.equal(code, 0);
    return json;
  }

  return {
    version,
    quirks,
    card: async () => {
      const card = await answer(['card', 'get']);
      return { name: card.name, streaming: card.capabilities.streaming, skills: card.skills.length };
    },
    send: async (content, where = {}, options = {}) =>
      v1.event(await answer(['send', '-', ...message(content, where), ...(options.immediately ? ['--async'] : [])], text(content))),
    stream: (content, where = {}) => events(['send', '-', ...message(content, where)], text(content)),
    get: async (id, historyLength = 0) => v1.task(await answer(['task', 'get', id, '--history', `${historyLength}`])),
    list: version >= '1' && (async (contextId) =>
      (await answer(['task', 'list', '--context-id', contextId])).tasks.map((t) => t.id)),
    cancel: async (id) => v1.task(await answer(['task', 'cancel', id])),
    subscribe: (id) => events(['task', 'subscribe', id]),
  };
}

// text is the first part of a message, which goes in by standard input.
function text(content) {
  return parts(content)[0].text;
}

// message makes flags of the other parts, and of where the message belongs.
function message(content, { taskId, contextId }) {
  const flags = [];
  for (const part of parts(content).slice(1)) {
    if (part.url !== undefined) {
      flags.push('--file', part.url, '--media-type', part.mediaType);
    } else if (part.raw !== undefined) {
      const path = join(scratch, part.filename);
      writeFileSync(path, Buffer.from(part.raw, 'base64'));
      flags.push('--file', path, '--media-type', part.mediaType);
    } else {
      const path = join(scratch, `${randomUUID()}.json`);
      writeFileSync(path, JSON.stringify(part.data));
      flags.push('--data', path);
    }
  }
  if (taskId) flags.push('--task-id', taskId);
  if (contextId) flags.push('--context-id', contextId);
  return flags;
}

function failure({ code, message }) {
  return Object.assign(new Error(message), { kind: code.replace(/Error$/, '') });
}
