/**
 * An import of an archive that dies: the product's own, killed when it has stored so much. Started by tests with one argument, the
 * JSON of {@link DyingArchiveImport}.
 */

import { openDataDirectory } from '../../src/open-data-directory.ts';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { type ArchiveImport, importArchive } from '../../src/transfer/archive/import-archive.ts';

export interface DyingArchiveImport {
  readonly flags: Readonly<Record<string, string>>;
  readonly key: string;
  readonly path: string;
  readonly slug: string;
  readonly as: ArchiveImport['as'];
  /** Whose words count: a table, a collection or `files`; all unless given. */
  readonly what?: string;
  /** After how many words of progress it dies, and how many milliseconds later: in the middle of what follows. */
  readonly words: number;
  readonly laterMs: number;
}

// Only archive-resumed.test.ts starts this file, and writes these options.
const options = JSON.parse(process.argv[2] ?? '{}') as DyingArchiveImport;
const { flags, key, words, what: whose, laterMs, ...plan } = options;
const config = readConfig({ ...flags, 'log-level': 'error' }, { CHANCERY_KEY: key });
const data = await openDataDirectory(config, {});
let count = 0;
// As by `kill -9`: nothing is flushed, no handler runs.
const die = (): void => void process.kill(process.pid, 'SIGKILL');
await importArchive(
  { data, folder: config.files.folder, clock: systemClock },
  {
    ...plan,
    host: null,
    resumes: 'goes on',
    onProgress: ({ what }) => {
      if (whose !== undefined && what !== whose) return;
      count += 1;
      if (count !== words) return;
      if (laterMs === 0) die();
      else setTimeout(die, laterMs);
    },
  },
);
await data.stop();
console.log('ended');
