/**
 * Makes the executables: `npm run build:executable`, and with `-- arm64` or `-- x64` behind it also the one for that processor, whose Node is
 * got from where npm gets packages. In dist/ it leaves chancery-linux-PROCESSOR for each processor whose Node is
 * installed, with the licences of all that is in it and a bill of materials beside it, and says why there is none for the others. Fails when it can make none.
 */
import { mkdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fetchRuntime } from './build/fetch-runtime.ts';
import { findRuntime, makeExecutable, processors } from './build/make-executable.ts';
import { root } from './build/root.ts';

const folder = join(root, 'dist');
mkdirSync(folder, { recursive: true });
let count = 0;
for (const wanted of process.argv.slice(2)) {
  const processor = processors.find((one) => one === wanted);
  if (processor === undefined) throw new Error(`Expected one of ${processors.join(', ')}, not ${wanted}.`);
  if (typeof findRuntime(processor) === 'string') fetchRuntime(processor);
}
for (const processor of processors) {
  const runtime = findRuntime(processor);
  if (typeof runtime === 'string') {
    console.log(`No executable for ${processor}: ${runtime}.`);
    continue;
  }
  const { path, licences, billOfMaterials } = await makeExecutable(folder, runtime);
  console.log(`${relative(root, path)}: ${(statSync(path).size / 1_000_000).toFixed(1)} MB`);
  for (const file of [licences, billOfMaterials]) console.log(relative(root, file));
  count += 1;
}
if (count === 0) process.exitCode = 1;
