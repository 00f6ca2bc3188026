// Starts `parley serve` for a test file, on a free port, with nothing on disk.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

// start builds the binary of this tree (or takes the one PARLEY names), runs
// it, and resolves to { url, stop } once the server has said where it is.
export async function start() {
  const dir = mkdtempSync(join(tmpdir(), 'parley-interop-'));
  let binary = process.env.PARLEY;
  if (!binary) {
    binary = join(dir, 'parley');
    execFileSync('go', ['build', '-o', binary, './cmd/parley'], { cwd: root, stdio: 'inherit' });
  }
  const child = spawn(binary, ['serve', '--listen', '127.0.0.1:0', '--ephemeral'], {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  const stop = async () => {
    child.kill('SIGTERM');
    const code = await gone;
    rmSync(dir, { recursive: true, force: true });
    return code;
  };
  return { url: await announced(child, gone), stop };
}

// announced reads both outputs until an address is printed.
function announced(child, gone) {
  return new Promise((resolve, reject) => {
    let said = '';
    const read = (chunk) => {
      said += chunk;
      const found = said.match(/http:\/\/127\.0\.0\.1:[1-9]\d*/);
      if (found) resolve(found[0]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', reject);
    gone.then((code) => reject(new Error(`parley ended with code ${code}:\n${said}`)));
  });
}
