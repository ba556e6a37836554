/**
 * Makes clients of the API by generators, compiles them, and lets each make a round trip to a real service: `npm run generators`, or
 * `npm run generators -- go python`. It installs the generators into a folder that it removes, so it is not part of `npm test`, which
 * looks for what has broken one in the document itself (test/api/openapi-generators.test.ts). Those whose language is missing are left out.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../../tools/build/root.ts';
import { folder, type Generator, generators, type Place, versionOf } from './generators.ts';
import { commandWith } from './run-command.ts';
import { answersOfRoundTrip, setStage, type Stage, superuser } from './stage.ts';

process.exitCode = await main(process.argv.slice(2));

/** Returns the exit code: 1 if a generator has failed. */
async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !generators.some((generator) => generator.name === name));
  if (unknown.length > 0) throw new Error(`no generator ${unknown.join(', ')}`);
  const chosen = generators.filter(({ name }) => names.length === 0 || names.includes(name));
  const temporary = mkdtempSync(join(tmpdir(), 'chancery-generators-'));
  let failures = 0;
  try {
    await using stage = await setStage(temporary);
    const installed = await install(
      temporary,
      chosen.filter((generator) => missingOf(generator).length === 0),
    );
    for (const generator of chosen) {
      const title = `${generator.name} (${generator.package} ${versionOf(generator)})`;
      const missing = missingOf(generator);
      if (missing.length > 0) {
        console.log(`${title}: not run: there is no ${missing.join(', ')} here`);
        continue;
      }
      try {
        await tryGenerator(generator, { stage, temporary, ...installed });
        console.log(
          `${title}: both clients compile${generator.roundTrip ? ', and the round trip is right' : ''}`,
        );
      } catch (error) {
        failures += 1;
        console.log(`${title}: failed: ${String(error)}`);
      }
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return failures === 0 ? 0 : 1;
}

/** Programs that the generator needs and this machine has not. */
function missingOf({ needs }: Generator): readonly string[] {
  const version = (program: string): string => (program === 'go' ? 'version' : '--version');
  return needs.filter((program) => spawnSync(program, [version(program)]).status !== 0);
}

type Installed = Pick<Place, 'packages' | 'python'>;

/** Installs what these generators need. */
async function install(temporary: string, chosen: readonly Generator[]): Promise<Installed> {
  const run = commandWith({});
  const packages = join(temporary, 'packages');
  const python = join(temporary, 'python/bin/python');
  mkdirSync(packages);
  if (chosen.some(({ needs }) => !needs.includes('java'))) {
    for (const file of ['package.json', 'package-lock.json'])
      cpSync(join(folder, file), join(packages, file));
    cpSync(join(root, '.npmrc'), join(packages, '.npmrc'));
    await run('npm', ['ci'], { cwd: packages });
  }
  if (chosen.some(({ needs }) => needs.includes('java'))) {
    await run('python3', ['-m', 'venv', 'python'], { cwd: temporary });
    await run(python, ['-m', 'pip', 'install', '-q', '-r', join(folder, 'requirements.txt')], {
      cwd: temporary,
    });
  }
  return { packages, python };
}

interface Trial extends Installed {
  readonly stage: Stage;
  readonly temporary: string;
}

/** Makes and compiles the clients of both documents, and uses that of the instance. */
async function tryGenerator(generator: Generator, { stage, temporary, ...installed }: Trial): Promise<void> {
  const { url, documents } = stage;
  const run = commandWith({
    CHANCERY_URL: url,
    CHANCERY_EMAIL: superuser.email,
    CHANCERY_PASSWORD: superuser.password,
  });
  for (const [kind, document] of Object.entries(documents)) {
    const place: Place = {
      ...installed,
      url,
      run,
      document,
      folder: join(temporary, `${generator.name}-${kind}`),
    };
    mkdirSync(place.folder);
    mkdirSync(join(place.folder, 'client'));
    const roundTrip = kind === 'instance' && generator.roundTrip !== undefined;
    await generator.generate(place);
    await generator.compile(place, { roundTrip });
    if (!roundTrip) continue;
    const printed: unknown = JSON.parse((await generator.roundTrip?.(place)) ?? '');
    assert.deepEqual(printed, answersOfRoundTrip);
    assert.equal(await stage.countPosts(), 0, 'the client has deleted its post');
  }
}
