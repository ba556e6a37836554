import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { root } from '../tools/build/root.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly steps: readonly Step[];
  readonly needs?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly 'timeout-minutes'?: number;
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Form {
  readonly name: string;
  readonly description: string;
  readonly body: readonly {
    readonly type: string;
    readonly id?: string;
    readonly attributes: {
      readonly label?: string;
      readonly value?: string;
      readonly options?: readonly string[];
    };
  }[];
}

const workflow = (name: string): Workflow =>
  // Our own files, whose form the tests below look at.
  parse(readFileSync(join(root, '.github/workflows', name), 'utf8')) as Workflow;
const commandsOf = (job: Job | undefined): string => (job?.steps ?? []).map(({ run = '' }) => run).join('\n');

test('the workflow of each change runs the gate and nothing else, with the right to read alone', () => {
  const { on, permissions, jobs } = workflow('ci.yml');
  assert.deepEqual(Object.keys(on), ['push', 'pull_request']);
  assert.deepEqual(permissions, { contents: 'read' });
  assert.deepEqual(Object.keys(jobs), ['gate']);
  assert.equal(commandsOf(jobs['gate']).trim(), '.ci/run');
});

test('a release is made for tags only, after the gate, and published by a job that builds nothing', () => {
  const { on, permissions, jobs } = workflow('release.yml');
  assert.deepEqual(on, { push: { tags: ['v*'] } });
  assert.deepEqual(permissions, { contents: 'read' });
  const { make, publish } = jobs;
  assert.match(commandsOf(make), /^\s*\.ci\/run\nnpm run release -- "\$\{GITHUB_REF_NAME#v\}" --dry-run$/m);
  assert.equal(make?.permissions, undefined);
  assert.deepEqual(
    [publish?.needs, publish?.permissions],
    ['make', { contents: 'write', 'id-token': 'write' }],
  );
  assert.match(commandsOf(publish), /sha256sum --check[^]*npm publish/);
  assert.doesNotMatch(commandsOf(publish), /npm (?:ci|run|install)/);
});

test('every job ends, and every action is of a version', () => {
  for (const name of ['ci.yml', 'release.yml'])
    for (const [job, { steps, ...rest }] of Object.entries(workflow(name).jobs)) {
      assert.ok((rest['timeout-minutes'] ?? 0) > 0, `${name}: ${job} has a timeout`);
      for (const { uses } of steps) if (uses !== undefined) assert.match(uses, /^actions\/[\w-]+@v\d+$/);
    }
});

test('issue forms have a name, and fields with labels and ids of their own', () => {
  const paths = globSync('.github/ISSUE_TEMPLATE/*.yml', { cwd: root }).filter(
    (path) => !path.endsWith('config.yml'),
  );
  assert.ok(paths.length >= 2);
  for (const path of paths) {
    // Our own files as well.
    const { name, description, body } = parse(readFileSync(join(root, path), 'utf8')) as Form;
    assert.ok(name !== '' && description !== '', path);
    const fields = body.filter(({ type }) => type !== 'markdown');
    for (const { id, type, attributes } of fields) {
      assert.match(id ?? '', /^[a-z]+$/, path);
      assert.ok((attributes.label ?? '') !== '', `${path}: ${String(id)}`);
      if (type === 'dropdown') assert.ok((attributes.options ?? []).length > 1, `${path}: ${String(id)}`);
    }
    assert.equal(new Set(fields.map(({ id }) => id)).size, fields.length, path);
  }
});
