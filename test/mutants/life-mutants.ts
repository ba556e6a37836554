import type { Mutant } from './mutant.ts';

const life = 'test/api/instance-life.test.ts';
const removals = 'src/instances/instance-removals.test.ts';
const directory = 'src/instances/instance-directory.test.ts';

/** The life of an instance: suspended, deleted, restored, removed. */
export const lifeMutants: readonly Mutant[] = [
  {
    name: 'a suspended instance is not asked',
    file: 'src/http/server/serve-route.ts',
    from: "entry.state === 'suspended'",
    to: "entry.state === 'deleted'",
    tests: [life],
  },
  {
    name: 'webhooks of a suspended instance wait',
    file: 'src/dispatch/loans.ts',
    from: 'owns: (id) => isActive(id) && ownership.owns(id),',
    to: 'owns: (id) => (isActive(id) || true) && ownership.owns(id),',
    tests: [life],
  },
  {
    name: 'realtime connections end with the suspension',
    file: 'src/hosts/open-host.ts',
    from: '    if (isActive) return;\n    delivering',
    to: '    if (isActive || !isActive) return;\n    delivering',
    tests: [life],
  },
  {
    name: 'what waited is sent after the resume',
    file: 'src/hosts/open-host.ts',
    from: 'else if (isActive && ownership?.owns(id) !== false) take(id);',
    to: 'else if (isActive && ownership?.owns(id) === false) take(id);',
    tests: [life],
  },
  {
    name: 'a changed instance is read by its row',
    file: 'src/instances/instance-directory.ts',
    from: 'change > ${this.#index.change} OR position > ${this.#index.position}',
    to: 'change > 0 * ${this.#index.change} OR position > ${this.#index.position}',
    tests: [directory],
  },
  {
    name: 'a slug that another instance has taken over stays found',
    file: 'src/instances/instance-index.ts',
    from: 'if (this.#bySlug.get(slug) === entry) this.#bySlug.delete(slug);',
    to: 'this.#bySlug.delete(slug);',
    tests: [directory],
  },
  {
    name: 'what is due in a new instance of another process is looked at',
    file: 'src/instances/instance-directory.ts',
    from: '{ isSilent: this.#creating.has(row.id) }',
    to: '{ isSilent: this.find(row.id) === undefined }',
    tests: [directory],
  },
  {
    name: 'a process that creates an instance does not open it',
    file: 'src/instances/instance-index.ts',
    from: ' && !isSilent',
    to: '',
    tests: [directory],
  },
  {
    name: 'an instance whose removal has begun cannot be restored',
    file: 'src/instances/instance-directory.ts',
    from: "if (row.state !== 'deleted')",
    to: "if (row.state === 'active')",
    tests: [removals],
  },
  {
    name: 'a deleted instance is kept for its days',
    file: 'src/instances/instance-removals.ts',
    from: 'Math.max(deletedDays * dayMs, daysMin * dayMs, graceMsMin)',
    to: 'Math.min(deletedDays * dayMs, graceMsMin)',
    tests: [removals],
  },
  {
    name: 'files of a deleted instance are removed from S3',
    file: 'src/instances/instance-removals.ts',
    from: 'if (settings.current.s3.enabled) await',
    to: 'if (!settings.current.s3.enabled) await',
    tests: [removals],
  },
];
