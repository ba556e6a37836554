import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { eventually } from './support/eventually.ts';
import { Receiver } from './support/receiver.ts';
import { runInProcess, type CommandResult } from './support/run-in-process.ts';
import { startService } from './support/service.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const page = readFileSync(new URL('../docs/command-line.md', import.meta.url), 'utf8');

/** A part of the page that is done: a command with its output, or a remark about what its reader does. */
type Step =
  | { readonly kind: 'command'; readonly line: string; readonly output: readonly string[] }
  | { readonly kind: 'remark'; readonly text: string };

test('every command of docs/command-line.md prints what the page says', async (t) => {
  const stage = await startStage(t);
  const steps = stepsOf(page);
  assert.ok(steps.length > 30);
  for (const step of steps)
    if (step.kind === 'remark') follow(step.text, stage);
    else await runStep(step, stage);
});

test('the page lists every command that there is', async () => {
  const { stdout } = await runInProcess(['help']);
  const names = [...stdout.matchAll(/^ {2}(\w+)(?: |$)/gm)].map(([, name]) => name);
  assert.ok(names.length > 10, stdout);
  for (const name of names)
    if (name !== 'help') assert.match(page, new RegExp(`^\\|.*\`${name}[\` ].*\\|$`, 'm'));
});

function stepsOf(text: string): readonly Step[] {
  const parts = text.matchAll(/^<!-- ([^\n]*) -->$|^```console\n(.*?)^```$/gms);
  return [...parts].flatMap(([, remark, block]): readonly Step[] =>
    block === undefined ? [{ kind: 'remark', text: remark ?? '' }] : commandsOf(block),
  );
}

function commandsOf(block: string): readonly Step[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = '', ...output] = part.trimEnd().split('\n');
      return { kind: 'command', line, output };
    });
}

interface Stage {
  readonly folder: string;
  /** Lets the receiver refuse the next request. */
  readonly failOnce: () => void;
  readonly password: string;
  readonly environment: Readonly<Record<string, string>>;
  /** What stands in the place of texts of the page. */
  readonly real: Map<string, string>;
  code: number | null;
}

async function startStage(t: TestContext): Promise<Stage> {
  let isFailing = false;
  const receiver = await Receiver.open({
    onRequest: () => {
      receiver.mode = isFailing ? { kind: 'status', status: 500, body: 'out of stock' } : { kind: 'ok' };
      isFailing = false;
    },
  });
  const failOnce = (): void => {
    isFailing = true;
  };
  const service = await startService(t);
  t.after(() => receiver.close());
  const folder = temporaryFolder(t);
  const real = new Map([
    ['https://records.example.com', service.url],
    ['https://shop.example.com/hook', receiver.url],
    ['you@example.com', service.superuser.email],
  ]);
  const environment = { XDG_CONFIG_HOME: join(folder, 'config'), NO_COLOR: '1' };
  return { folder, failOnce, password: service.superuser.password, environment, real, code: null };
}

/** Does what a remark says: changes a file, or lets the receiver fail. */
function follow(text: string, { folder, failOnce }: Stage): void {
  const [, file, before = '', after = ''] = /^(\S+): (.+) → (.+)$/.exec(text) ?? [];
  if (file === undefined) {
    assert.equal(text, 'The receiver answers 500 once.');
    failOnce();
    return;
  }
  const content = readFileSync(join(folder, file), 'utf8');
  assert.ok(content.includes(before), text);
  writeFileSync(join(folder, file), content.replace(before, after));
}

async function runStep({ line, output }: Step & { readonly kind: 'command' }, stage: Stage): Promise<void> {
  if (line === 'echo $?') return assert.deepEqual([String(stage.code)], output);
  const isFollowing = output.at(-1) === '^C';
  const expected = isFollowing ? output.slice(0, -1) : output;
  // Deliveries and entries of logs come a moment later: what only reads is asked again.
  const isReading = / (?:list|show|tail)\b| logs /.test(line);
  const attempt = async (): Promise<true> => {
    const { code, stdout, stderr } = await runLine(line, stage, isFollowing ? expected.length : undefined);
    // Progress is gone once the command is done.
    const said = stderr.split('\r\u001B[K').at(-1);
    const shown = `${stdout}${said}`.replaceAll(`${stage.folder}/`, '');
    compare(shown, expected, { line, real: stage.real });
    stage.code = code;
    return true;
  };
  await (isReading ? eventually(line, attempt, 20_000) : attempt());
}

async function runLine(line: string, stage: Stage, lines: number | undefined): Promise<CommandResult> {
  const [, command = '', redirected] = /^chancery (.*?)(?: < (\w+))?$/.exec(line) ?? [];
  const words = [...command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    withReal(word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'), stage.real),
  );
  const inFolder = words.map((word) => (/\.(?:csv|json)$/.test(word) ? join(stage.folder, word) : word));
  const args = words[0] === 'schema' ? [...inFolder, join(stage.folder, 'schema')] : inFolder;
  const interrupts = new EventEmitter();
  let seen = '';
  return runInProcess(args, {
    environment: stage.environment,
    columns: 120,
    interrupts,
    ...(redirected !== undefined && { input: stage.password }),
    onOutput: (text) => {
      seen += text;
      if (lines !== undefined && seen.split('\n').length > lines) interrupts.emit('SIGINT');
    },
  });
}

function withReal(text: string, real: ReadonlyMap<string, string>): string {
  return [...real].reduce((filled, [shown, actual]) => filled.replaceAll(shown, actual), text);
}

/** Values that differ from run to run: ids, which must be the same wherever they stand, times, secrets and durations. */
const values =
  /\b(?=\w*\d)[a-z0-9]{15}(?:[a-z0-9]{5})?\b|\d{4}-\d\d-\d\d[T ][\d:.]+Z|whsec_\S+|\b[\d.]+(?= ms)|\b\d\.\d{3}\b/g;
const patterns: readonly (readonly [RegExp, string])[] = [
  [/^\d{4}-/, String.raw`\d{4}-\d\d-\d\d[T ][\d:.]+Z`],
  [/^whsec_/, String.raw`whsec_\S+`],
  [/^[\d.]+$/, String.raw`[\d.]+`],
];

interface Comparison {
  readonly line: string;
  readonly real: Map<string, string>;
}

/** Compares an output with what the page shows of it. `…` on a line of its own stands for any lines. */
function compare(shown: string, expected: readonly string[], { line, real }: Comparison): void {
  const names: string[] = [];
  const source = expected
    .map((text) => {
      if (text.trim() === '…') return String.raw`(?:.*\n)*?.*`;
      const filled = withReal(squeezed(text), real);
      let at = 0;
      let pattern = '';
      for (const match of filled.matchAll(values)) {
        const isReal = [...real.values()].includes(match[0]);
        const own = patterns.find(([form]) => form.test(match[0]))?.[1];
        if (own === undefined && !isReal) names.push(match[0]);
        pattern += RegExp.escape(filled.slice(at, match.index));
        pattern += isReal ? RegExp.escape(match[0]) : (own ?? `(\\w{${match[0].length}})`);
        at = match.index + match[0].length;
      }
      return pattern + RegExp.escape(filled.slice(at));
    })
    .join(String.raw`\n`);
  const text = shown.trimEnd().split('\n').map(squeezed).join('\n');
  const match = new RegExp(`^${source}$`).exec(text);
  assert.ok(match !== null, `$ ${line}\n${shown}\nin place of\n${expected.join('\n')}`);
  for (const [at, name] of names.entries()) real.set(name, match[at + 1] ?? '');
}

/** How wide columns are depends on what else is in them. */
function squeezed(text: string): string {
  return text.trim().replaceAll(/ +/g, ' ');
}
