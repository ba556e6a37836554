import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mutant } from './mutant.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** What tests read, and what is packed. */
const copied = [
  'src',
  'test',
  'spec',
  'docs',
  'kit',
  'dashboard',
  'tools',
  'examples',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
];
const testTimeoutMs = 120_000;
const runTimeoutMs = 180_000;

/** What became of a mutant: noticed by a test, by none, or not even run. */
export type Verdict = 'killed' | 'survived' | 'broken';

/** A copy of the tree in which one mutant after the other is tried. The tree itself is never touched. */
export class MutantTree {
  readonly #folder = mkdtempSync(join(tmpdir(), 'chancery-mutants-'));

  /** Where a run has its files, on a disk and in memory. What it leaves, as it may end early, is removed with them. */
  readonly #places: { readonly TMPDIR: string; readonly CHANCERY_TEST_PLACE?: string };

  constructor() {
    const memory = process.env['CHANCERY_TEST_PLACE'];
    this.#places = {
      // Beside the copy: within it, programs would find its packages.
      TMPDIR: `${this.#folder}-files`,
      ...(memory !== undefined && { CHANCERY_TEST_PLACE: join(memory, basename(this.#folder)) }),
    };
    for (const path of copied) cpSync(join(root, path), join(this.#folder, path), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(this.#folder, 'node_modules'));
  }

  /** What becomes of a mutant that changes nothing: unless it survives, its tests notice none of the others. */
  tryUnchanged(mutant: Mutant): Promise<Verdict> {
    return this.try({ ...mutant, to: mutant.from });
  }

  async try({ file, from, to, tests, engine = 'sqlite' }: Mutant): Promise<Verdict> {
    const path = join(this.#folder, file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(
      path,
      text.replace(from, () => to),
    );
    try {
      return verdictOf(await this.#run(tests, engine));
    } finally {
      writeFileSync(path, text);
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** What the runner of tests prints. */
  async #run(tests: readonly string[], engine: string): Promise<string> {
    const options = ['--test', '--test-reporter=tap', `--test-timeout=${testTimeoutMs}`];
    const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
    // A server of a test runs as another user, who must be able to reach its own folder.
    for (const place of Object.values(this.#places)) mkdirSync(place, { mode: 0o711 });
    // A group of its own: a process of tests that stands still in the database hears no signal but the last.
    const child = spawn(process.execPath, [...options, ...tests], {
      detached: true,
      cwd: this.#folder,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...environment, CHANCERY_TEST_ENGINE: engine, ...this.#places },
    });
    const { pid } = child;
    let hasEnded = false;
    const end = (): void => {
      if (pid === undefined || hasEnded) return;
      hasEnded = true;
      process.kill(-pid, 'SIGKILL');
    };
    let printed = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      // One red test is enough. The name of a line that is not whole could be that of a file.
      const lines = printed.slice(0, printed.lastIndexOf('\n') + 1);
      if (child.exitCode === null && verdictOf(lines) === 'killed') end();
    });
    // A run that never ends is noticed by whoever waits for it.
    const giveUp = (): void => {
      printed += '\nnot ok 1 - ended in time\n';
      end();
    };
    const timer = setTimeout(giveUp, runTimeoutMs);
    process.once('exit', end);
    await once(child, 'close');
    process.off('exit', end);
    clearTimeout(timer);
    for (const place of Object.values(this.#places))
      rmSync(place, { recursive: true, force: true, maxRetries: 5 });
    return printed;
  }
}

/** A file that cannot be read as a program fails under its own name alone: that is no mutant but an error, and anything would find it. */
function verdictOf(printed: string): Verdict {
  const failed = [...printed.matchAll(/^not ok \d+ - (.*)$/gm)].map(([, name = '']) => name);
  if (failed.some((name) => !/^\S*\.test\.ts$/.test(name))) return 'killed';
  return failed.length === 0 && /^ok /m.test(printed) ? 'survived' : 'broken';
}
