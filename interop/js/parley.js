// The binary of this tree, as a server and as a command.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { say } from './transcript.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

// A directory for this process's files, gone when it ends.
export const scratch = mkdtempSync(join(tmpdir(), 'parley-interop-'));
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));

let built;

// binary builds parley, or takes the one that PARLEY names.
function binary() {
  if (process.env.PARLEY) return process.env.PARLEY;
  if (!built) {
    built = join(scratch, 'parley');
    execFileSync('go', ['build', '-o', built, './cmd/parley'], { cwd: root, stdio: 'inherit' });
  }
  return built;
}

// serve runs the demo agent on a free port with nothing on disk, and resolves
// to { url, stop } once the server has said where it is. args are more of serve's.
export async function serve(args = []) {
  const child = spawn(binary(), ['serve', '--listen', '127.0.0.1:0', '--ephemeral', '--log-level', 'debug', ...args], {
    cwd: scratch,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  const stop = () => {
    child.kill('SIGTERM');
    return gone;
  };
  return { url: await announced(child, gone), stop };
}

// announced reads both outputs, into the transcript, and resolves to the
// address that is printed.
function announced(child, gone) {
  return new Promise((resolve, reject) => {
    let said = '';
    const read = (chunk) => {
      say('parley:', `${chunk}`.trimEnd());
      if (said === null) return;
      said += chunk;
      const found = said.match(/http:\/\/127\.0\.0\.1:[1-9]\d*/);
      if (found) {
        said = null;
        resolve(found[0]);
      }
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', reject);
    gone.then((code) => reject(new Error(`parley ended with code ${code}:\n${said}`)));
  });
}

// command starts parley with arguments. lines is its standard output, a line
// at a time; code its exit status, after the last line; log what it has
// written to standard error.
export function command(args, input) {
  say('$', `parley ${args.join(' ')}`);
  const child = spawn(binary(), args, { cwd: scratch, stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');
  let log = '';
  child.stderr.on('data', (chunk) => {
    log += chunk;
    say('parley:', `${chunk}`.trimEnd());
  });
  const code = new Promise((resolve) => child.once('close', resolve));
  return { lines: splitLines(child.stdout), code, log: () => log, stop: () => child.kill() };
}

async function* splitLines(stream) {
  let rest = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    yield* lines;
  }
  if (rest) yield rest;
}
