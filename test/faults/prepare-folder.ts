import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../src/app.ts';
import { onInstance } from '../../src/open-data-directory.ts';
import { createCollection } from '../../src/definitions/change-collection.ts';
import { readConfig } from '../../src/config/config.ts';
import { createEndpoint } from '../../src/deliveries/endpoints/change-endpoint.ts';
import { errorsOnly } from './errors-only.ts';
import type { Journal } from './journal.ts';
import { posts } from './posts.ts';

/** A data folder with an open collection `posts` and an endpoint for each of `paths` of the journal, made by this process. */
export async function prepareFolder(journal: Journal, paths: readonly string[]): Promise<PreparedFolder> {
  const data = mkdtempSync(join(tmpdir(), 'chancery-faults-'));
  const config = readConfig({ data, port: '0', dev: true }, {});
  const app = await startApp(config, { logger: errorsOnly });
  const entry = app.data.directory.all()[0];
  if (entry === undefined) throw new Error('a new folder has its default instance');
  await onInstance(app.data, entry, async (instance) => {
    await createCollection({ ...instance, now: instance.clock.now() }, posts);
    for (const path of paths) {
      const endpoint = await createEndpoint(instance, { url: journal.urlAt(path) }, config.policy);
      journal.secrets.set(path, endpoint.secret);
    }
  });
  await app.stop();
  return { data, file: join(data, 'instances', entry.id, 'data.db') };
}

export interface PreparedFolder {
  readonly data: string;
  /** The instance's database. */
  readonly file: string;
}
