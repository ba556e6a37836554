import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Processor } from './make-executable.ts';
import { root } from './root.ts';
import { run } from './run.ts';

/**
 * Puts the Node for another kind of machine into node_modules, which `npm ci` leaves out there. Throws when it is not the one that
 * package-lock.json names.
 */
export function fetchRuntime(processor: Processor): void {
  const name = `node-linux-${processor}`;
  // Written by npm, with these members for each package.
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;
  };
  const locked = packages[`node_modules/${name}`];
  if (locked === undefined) throw new Error(`package-lock.json has no ${name}.`);
  const place = mkdtempSync(join(tmpdir(), 'chancery-runtime-'));
  try {
    const options = ['--json', '--pack-destination', place];
    const answer = run('npm', ['pack', `${name}@${locked.version}`, ...options], { cwd: root });
    // An array with one package, as one was asked for.
    const [packed] = JSON.parse(answer) as [{ readonly filename: string; readonly integrity: string }];
    if (packed.integrity !== locked.integrity)
      throw new Error(`${name} ${locked.version} is not the package that package-lock.json names.`);
    const folder = join(root, 'node_modules', name);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
    run('tar', ['-xzf', join(place, packed.filename), '--strip-components=1', '-C', folder], { cwd: root });
  } finally {
    rmSync(place, { recursive: true });
  }
}
