import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../../src/app.ts';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { upsertSuperuser } from '../../../src/auth/superuser.ts';
import { onInstance } from '../../../src/open-data-directory.ts';
import { type Config, readConfig } from '../../../src/config/config.ts';
import { createCollection } from '../../../src/definitions/change-collection.ts';
import { createEndpoint } from '../../../src/deliveries/endpoints/change-endpoint.ts';
import type { Instance } from '../../../src/instances/instance.ts';
import { errorsOnly } from '../errors-only.ts';
import { makeScript } from '../ledger/receiver-scripts.ts';
import type { Receivers } from '../ledger/receivers.ts';
import { posts } from '../posts.ts';
import { environment } from '../prepare-instances.ts';
import type { Random } from '../random.ts';

export const superuser = { identity: 'ann@example.com', password: 'correct horse battery' };

export interface PreparedBackups {
  readonly data: string;
  readonly apiKey: string;
  /** The names of the receivers, each with an endpoint that gets every event. */
  readonly receivers: readonly string[];
}

const scripts = ['is well', 'is slow', 'flaps', 'fails with 500'] as const;
const file = { name: 'file', type: 'file', maxSize: 10_000 };
/** The definition of accounts, which a superuser makes. */
export const members = {
  name: 'members',
  type: 'auth',
  fields: [{ name: 'title', type: 'text' }],
  listRule: '',
  viewRule: '',
  createRule: '',
};

/** Makes a data directory whose only instance has open collections, a superuser, a key, and endpoints with receivers that fail at times. */
export async function prepareBackups(
  receivers: Receivers,
  { random, postgres }: { readonly random: Random; readonly postgres: string | undefined },
): Promise<PreparedBackups> {
  const data = mkdtempSync(join(tmpdir(), 'chancery-backups-'));
  const place = { data, port: '0', dev: true, ...(postgres !== undefined && { postgres }) };
  const config = readConfig(place, postgres === undefined ? {} : environment);
  const app = await startApp(config, { logger: errorsOnly });
  const [entry] = app.data.directory.all();
  if (entry === undefined) throw new Error('a new folder has its default instance');
  const apiKey = await onInstance(app.data, entry, (instance) => prepareInstance(instance));
  for (const name of scripts) {
    const port = await receivers.open(name, makeScript(name, random));
    await onInstance(app.data, entry, (instance) => addEndpoint(instance, { name, port, config }));
  }
  await app.stop();
  return { data, apiKey, receivers: scripts };
}

async function prepareInstance(instance: Instance): Promise<string> {
  await upsertSuperuser(instance, superuser.identity, superuser.password);
  const now = instance.clock.now();
  await createCollection({ ...instance, now }, { ...posts, fields: [...posts.fields, file] });
  const { key } = await createApiKey(instance, { name: 'reader', scopes: ['webhooks:read'] }, 'operator');
  return key;
}

async function addEndpoint(
  instance: Instance,
  { name, port, config }: { readonly name: string; readonly port: number; readonly config: Config },
): Promise<void> {
  const endpoint = {
    url: `http://127.0.0.1:${port}/hook`,
    description: name,
    // Longer than a busy machine stands still: what a receiver has taken is known to the sender, unless one of them dies.
    timeoutMs: 20_000,
    maxInFlight: 8,
    // Enough that nothing is given up within a run.
    schedule: Array.from({ length: 50 }, (_, index) => (index < 10 ? 1 : 20)),
  };
  await createEndpoint(instance, endpoint, config.policy);
}
