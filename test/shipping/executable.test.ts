import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, describe, test } from 'node:test';
import { findRuntime, makeExecutable, type MadeExecutable } from '../../tools/build/make-executable.ts';
import { atEnd } from '../support/at-end.ts';
import { endWith, MainProcess } from '../support/main-process.ts';
import { notInSample } from '../support/sample.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { checkVersion, doMainJob, runShipped } from './main-job.ts';

const runtime =
  process.platform === 'linux'
    ? findRuntime(process.arch === 'arm64' ? 'arm64' : 'x64')
    : 'this is not Linux';
const here = { skip: typeof runtime === 'string' ? `no executable can be made: ${runtime}` : false };

/** The size that we promise of a download. */
const bytesMax = 160_000_000;

const top = mkdtempSync(join(tmpdir(), 'chancery-executable-'));
after(() => rmSync(top, { recursive: true }));
/** As deep as an executable lies that may write to the folders above. */
const place = join(top, 'local', 'bin');
mkdirSync(place, { recursive: true });

let made: Promise<MadeExecutable> | undefined;

/** The executable, made once for all tests. */
function theExecutable(folder = place): Promise<MadeExecutable> {
  if (typeof runtime === 'string') throw new Error(runtime);
  if (folder !== place) return makeExecutable(folder, runtime);
  made ??= makeExecutable(folder, runtime);
  return made;
}

describe('the executable', here, () => {
  test('does in an empty folder what Chancery is for, and leaves nothing there but its data', async (t) => {
    const { path } = await theExecutable();
    const folder = temporaryFolder(t);
    await doMainJob(t, { folder, program: [path] });
    assert.deepEqual(readdirSync(folder), ['data']);
    const around = readdirSync(top, { recursive: true }).map(String);
    assert.deepEqual(around.filter((name) => !name.startsWith(relative(top, path))).toSorted(), [
      'local',
      'local/bin',
    ]);
  });

  test('is no larger than promised, and answers', async (t) => {
    const { path } = await theExecutable();
    assert.ok(statSync(path).size <= bytesMax, String(statSync(path).size));
    const server = endWith(
      t,
      new MainProcess(['serve', '--port', '0'], {}, { program: [path], folder: temporaryFolder(t) }),
    );
    const { url } = await server.waitForLog(/listens on/);
    assert.equal((await fetch(`${String(url)}/api/health`)).status, 200);
    const cpuMs = cpuMsOf(server.pid);
    t.diagnostic(`${cpuMs} ms of work until the first answer`);
  });

  test('says what it was built from, and refuses what it does not know, as every form does', async (t) => {
    const { path } = await theExecutable();
    const shipped = { folder: temporaryFolder(t), program: [path] };
    await checkVersion(t, shipped);
    const unknown = await runShipped(t, shipped, ['srve']);
    assert.deepEqual(
      [unknown.code, unknown.stderr],
      [64, "chancery: unknown command 'srve' (Did you mean serve?)\n"],
    );
  });

  test(
    'is made of the same bytes each time, and so is its bill of materials, which names Node',
    notInSample,
    async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'chancery-executable-'));
      atEnd(t, () => rmSync(folder, { recursive: true }));
      const [one, other] = [await theExecutable(), await theExecutable(folder)];
      assert.equal(await digestOf(one.path), await digestOf(other.path));
      const bill = readFileSync(one.billOfMaterials, 'utf8');
      assert.equal(bill, readFileSync(other.billOfMaterials, 'utf8'));
      for (const name of ['node-linux-', 'fastify', 'undici', 'pg'])
        assert.ok(bill.includes(`"name": "${name}`), name);
      const licences = readFileSync(one.licences, 'utf8');
      for (const name of ['OpenSSL', 'fastify']) assert.ok(licences.includes(name), name);
    },
  );
});

/** How long the processors have worked for this process. Linux counts in hundredths of a second, behind the name in brackets. */
function cpuMsOf(pid: number | undefined): number {
  const [, counts = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user, system] = counts.split(' ').slice(11, 13).map(Number);
  return ((user ?? Number.NaN) + (system ?? Number.NaN)) * 10;
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
