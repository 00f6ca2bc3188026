// The demo agent, as far as the suite goes: a generator of events in the
// suite's own words, which agents.js turns into the objects of each SDK.

import { setTimeout as sleep } from 'node:timers/promises';

// script answers one message. asked is what the task was waiting for, if it
// was waiting; signal ends it early, without a word.
export async function* script(text, asked, signal) {
  if (asked === 'input-required') {
    yield artifact('answer', [{ text }]);
    yield { status: 'completed' };
    return;
  }
  if (asked === 'auth-required') {
    yield artifact('auth', [{ text: 'authorized' }]);
    yield { status: 'completed' };
    return;
  }
  const [command] = text.split(' ', 1);
  const rest = text.slice(command.length + 1);
  switch (command) {
    case 'message':
      yield { message: rest };
      return;
    case 'ask':
      yield { status: 'input-required', text: rest || 'What is your name?' };
      return;
    case 'auth':
      yield { status: 'auth-required', text: 'credentials, please' };
      return;
    case 'fail':
      yield { status: 'failed', text: rest };
      return;
    case 'reject':
      yield { status: 'rejected', text: rest };
      return;
    case 'sleep':
      yield { status: 'working', text: 'sleeping' };
      try {
        await sleep(Number(rest) * 1000, null, { signal });
      } catch {
        return;
      }
      break;
    case 'stream': {
      const [n, ms = 50] = rest.split(' ').map(Number);
      yield { status: 'working' };
      for (let i = 1; i <= n; i++) {
        await sleep(ms);
        yield { ...artifact('stream', [{ text: `chunk ${i}\n` }]), append: i > 1, lastChunk: i === n };
      }
      break;
    }
    case 'file':
      yield artifact('file', [
        { raw: 'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAQMAAABJtOi3AAAAA1BMVEUrVsmdOxQdAAAADElEQVR42mNgGNwAAACgAAGO+7G0AAAAAElFTkSuQmCC', mediaType: 'image/png', filename: 'pixel.png' },
        { url: 'https://example.com/report.pdf', mediaType: 'application/pdf', filename: 'report.pdf' },
      ]);
      break;
    case 'data':
      yield artifact('data', [{
        data: { answer: 42, ok: true, list: [1, 'two', null], nested: { pi: 3.5, text: 'héllo' } },
      }]);
      break;
    default:
      yield artifact('echo', [{ text: rest }]);
  }
  yield { status: 'completed' };
}

function artifact(name, parts) {
  return { artifact: { artifactId: `the-${name}`, name, parts }, append: false, lastChunk: true };
}
