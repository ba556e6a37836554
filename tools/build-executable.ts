/**
 * Makes the executables: `npm run build:executable`, and with `-- arm64` or `-- x64` behind it also the one for that processor, whose Node is
 * got from where npm gets packages. In dist/ it leaves chancery-linux-PROCESSOR for each processor whose Node is
 * installed, with the licences of all that is in it and a bill of materials beside it, and says why there is none for the others. Fails when it can make none.
 *
 * With `-- here` it makes one of the Node that runs it, for the system that it runs on: on macOS or Windows chancery-darwin-arm64 or
 * chancery-win32-x64.exe.
 */
import { mkdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fetchRuntime } from './build/fetch-runtime.ts';
import {
  findRuntime,
  makeExecutable,
  processors,
  runningRuntime,
  type Runtime,
} from './build/make-executable.ts';
import { root } from './build/root.ts';

const folder = join(root, 'dist');
mkdirSync(folder, { recursive: true });
const runtimes = process.argv[2] === 'here' ? [runningRuntime()] : installedRuntimes(process.argv.slice(2));
for (const runtime of runtimes) {
  const { path, licences, billOfMaterials } = await makeExecutable(folder, runtime);
  console.log(`${relative(root, path)}: ${(statSync(path).size / 1_000_000).toFixed(1)} MB`);
  for (const file of [licences, billOfMaterials]) console.log(relative(root, file));
}
if (runtimes.length === 0) process.exitCode = 1;

function installedRuntimes(names: readonly string[]): readonly Runtime[] {
  for (const name of names) {
    const processor = processors.find((one) => one === name);
    if (processor === undefined)
      throw new Error(`Expected here or one of ${processors.join(', ')}, not ${name}.`);
    if (typeof findRuntime(processor) === 'string') fetchRuntime(processor);
  }
  return processors.flatMap((processor) => {
    const runtime = findRuntime(processor);
    if (typeof runtime !== 'string') return [runtime];
    console.log(`No executable for ${processor}: ${runtime}.`);
    return [];
  });
}
