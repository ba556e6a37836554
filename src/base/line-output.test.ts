import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventually } from '../../test/support/eventually.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { LineOutput } from './logger.ts';

const module = fileURLToPath(new URL('logger.ts', import.meta.url));

test('a line is there though the process ends at once, and every one of a reader who is slow', async () => {
  const lines = Array.from({ length: 5_000 }, (_, at) => `${at} ${'x'.repeat(200)}\n`);
  const child = start(`
    const lines = Array.from({ length: 5_000 }, (_, at) => \`\${at} \${'x'.repeat(200)}\\n\`);
    for (const line of lines) output.write(line);
    process.exit(0);`);
  const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
  assert.equal(output, lines.join(''));
});

test('a reader who is gone neither fails a process nor keeps it', async () => {
  const child = start(`
    output.write('ready\\n');
    process.stdin.once('end', () => {
      for (let n = 0; n < 100; n += 1) output.write('line\\n');
    }).resume();`);
  await once(child.stdout, 'data');
  child.stdout.destroy();
  await once(child.stdout, 'close');
  child.stdin.end();
  const [told] = await Promise.all([text(child.stderr), once(child, 'close')]);
  assert.deepEqual({ code: child.exitCode, told }, { code: 0, told: '' });
});

test('lines that were logged on a full disk are written when it has space again', async (t) => {
  const path = join(temporaryFolder(t), 'log');
  const full = openSync('/dev/full', 'w');
  const output = new LineOutput(full);
  output.write('one\n');
  closeSync(full);
  // The lowest number that is free: the output's file has room now.
  const descriptor = openSync(path, 'w');
  t.after(() => closeSync(descriptor));
  assert.equal(descriptor, full);
  output.write('two\n');
  await eventually('all is written', () => readFileSync(path, 'utf8') === 'one\ntwo\n');
});

/** A process with an `output` to its standard output. */
function start(script: string): ChildProcessWithoutNullStreams {
  const whole = `import { LineOutput } from ${JSON.stringify(module)}; const output = new LineOutput(1); ${script}`;
  return spawn(process.execPath, ['--input-type=module', '--eval', whole]);
}
