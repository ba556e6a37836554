import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import PocketBase from 'pocketbase';
import { start } from '../../src/start.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { MainProcess } from '../support/main-process.ts';
import { compareWorlds } from './compare-worlds.ts';
import { accounts, makeWorld, superuser } from './make-world.ts';
import { readWorld, type World } from './read-world.ts';

const key = randomBytes(32).toString('hex');
const encryptionKey = 'x'.repeat(32);

/** Returns what differs between a world made with this binary and what the import makes of it. */
export async function importVersion(
  binary: string,
  { postgres, isEncrypted }: { readonly postgres: string | undefined; readonly isEncrypted: boolean },
): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-imports-'));
  try {
    const source = join(folder, 'pb_data');
    const made = await useBinary(binary, source, isEncrypted);
    const data = join(folder, 'data');
    const place = ['--data', data, ...(postgres === undefined ? [] : ['--postgres', postgres])];
    const encryption = isEncrypted ? ['--encryption-key', encryptionKey] : [];
    const command = new MainProcess(['import', 'pocketbase', source, ...place, ...encryption], {
      CHANCERY_KEY: key,
    });
    const { code, stdout, stderr } = await command.ended;
    if (code !== 0) return [`the import ended with ${code}: ${stderr}`];
    await using chancery = await start({
      data,
      port: 0,
      logLevel: 'warn',
      key,
      ...(postgres !== undefined && { postgres }),
    });
    const left = stdout.split('Left out:\n')[1]?.trimEnd().split('\n') ?? [];
    // Sign-ins by OAuth2 and views have pages of their own.
    const unexpected = left.filter((line) => !/^ {2}(?:post_titles|_otps|_mfas): /.test(line));
    const problems = unexpected.map((line) => `left out:${line}`);
    const pb = await signIn(chancery.url);
    problems.push(...compareWorlds(made.world, await readWorld(pb)));
    for (const [collection, token] of made.tokens) {
      const issued = new PocketBase(chancery.url);
      issued.authStore.save(token, null);
      await issued.collection(collection).authRefresh();
    }
    return problems;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts a binary on an empty directory, fills it, reads it, and stops it. Returns what it has, and tokens that it has issued. */
async function useBinary(
  binary: string,
  directory: string,
  isEncrypted: boolean,
): Promise<{ readonly world: World; readonly tokens: ReadonlyMap<string, string> }> {
  const { email, password } = superuser;
  const flags = ['--dir', directory, ...(isEncrypted ? ['--encryptionEnv', 'IMPORTS_KEY'] : [])];
  const env = { ...process.env, IMPORTS_KEY: encryptionKey };
  execFileSync(binary, ['superuser', 'upsert', email, password, ...flags], { stdio: 'pipe', env });
  const port = await freePort();
  const child = spawn(binary, ['serve', '--http', `127.0.0.1:${port}`, ...flags], { stdio: 'ignore', env });
  const ended = once(child, 'exit');
  try {
    const url = `http://127.0.0.1:${port}`;
    await eventually('it answers', async () => (await fetch(`${url}/api/health`)).ok);
    const pb = await signIn(url);
    await makeWorld(pb);
    const member = new PocketBase(url);
    await member.collection('members').authWithPassword(accounts[0].email, accounts[0].password);
    const tokens = new Map([
      ['_superusers', pb.authStore.token],
      ['members', member.authStore.token],
    ]);
    return { world: await readWorld(pb), tokens };
  } finally {
    child.kill();
    await ended;
  }
}

async function signIn(url: string): Promise<PocketBase> {
  const pb = new PocketBase(url);
  pb.autoCancellation(false);
  await pb.collection('_superusers').authWithPassword(superuser.email, superuser.password);
  return pb;
}
