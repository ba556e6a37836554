import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../src/app.ts';
import { createCollection } from '../../src/collections/change-collection.ts';
import { readConfig } from '../../src/config.ts';
import { createEndpoint } from '../../src/webhooks/change-endpoint.ts';
import type { Journal } from './journal.ts';
import { posts } from './posts.ts';

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: console.error };

/** A data folder with an open collection `posts` and an endpoint for each of `paths` of the journal, made by this process. */
export async function prepareFolder(journal: Journal, paths: readonly string[]): Promise<PreparedFolder> {
  const data = mkdtempSync(join(tmpdir(), 'chancery-faults-'));
  const config = readConfig({ data, port: '0', dev: true }, {});
  const app = await startApp(config, { logger: silent });
  const entry = app.data.directory.all()[0];
  if (entry === undefined) throw new Error('a new folder has its default instance');
  const loan = await app.data.instances.borrow(entry);
  const { database, collections, clock } = loan.instance;
  await createCollection({ database, collections, now: clock.now() }, posts);
  for (const path of paths) {
    const endpoint = await createEndpoint(loan.instance, { url: journal.urlAt(path) }, config.policy);
    journal.secrets.set(path, endpoint.secret);
  }
  loan.release();
  await app.stop();
  return { data, file: join(data, 'instances', entry.id, 'data.db') };
}

export interface PreparedFolder {
  readonly data: string;
  /** The instance's database. */
  readonly file: string;
}
