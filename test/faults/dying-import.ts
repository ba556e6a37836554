/**
 * An import that dies where it is told to: the product's own, killed by its own word of progress. Started by tests with one
 * argument, the JSON of {@link DyingImport}.
 */

import { join } from 'node:path';
import { openDataDirectory } from '../../src/open-data-directory.ts';
import { readConfig } from '../../src/config/config.ts';
import { importPocketbase } from '../../src/transfer/pocketbase/import-pocketbase.ts';

export interface DyingImport {
  readonly data: string;
  readonly postgres: string | undefined;
  readonly key: string;
  readonly directory: string;
  readonly collection: string;
  /** `files` is before the first, `records` inside the transaction, `collection` behind its commit. */
  readonly point: 'files' | 'records' | 'collection';
}

// Only import.test.ts starts this file, and writes these options.
const { data, postgres, key, ...plan } = JSON.parse(process.argv[2] ?? '{}') as DyingImport;
const place = postgres === undefined ? {} : { postgres };
const config = readConfig({ data, 'log-level': 'error', ...place }, { CHANCERY_KEY: key });
const opened = await openDataDirectory(config, {});
const entry = opened.directory.findBySlug('default');
if (entry === undefined) throw new Error('There is no instance.');
const { instance } = await opened.instances.borrow(entry);
await importPocketbase({
  instance,
  control: opened.home.control,
  directory: plan.directory,
  storage: join(data, 'instances', instance.id, 'storage'),
  isDryRun: false,
  rotateTokens: false,
  encryptionKey: undefined,
  onProgress: ({ kind, collection }) => {
    // As by `kill -9`: nothing is flushed, no handler runs.
    if (kind === plan.point && collection === plan.collection) process.kill(process.pid, 'SIGKILL');
  },
});
