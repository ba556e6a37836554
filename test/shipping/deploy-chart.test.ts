import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, test } from 'node:test';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { serverFlags } from '../../src/config/config-flags.ts';
import { root } from '../../tools/build/root.ts';
import { requireVariables } from '../support/deploy-variables.ts';

const folder = join(root, 'deploy/helm/chancery');
/** As far as the tests look at them; the schema says what they are. */
const values: { readonly terminationGracePeriodSeconds: number } = parse(read('values.yaml'));
const templates = globSync('templates/*', { cwd: folder }).map((path) => ({ path, text: read(path) }));
const key = '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeF';

function read(path: string): string {
  return readFileSync(join(folder, path), 'utf8');
}

test('the chart is of this version, and its values are those that its schema allows', () => {
  const { name, version, appVersion } = parse(read('Chart.yaml'));
  assert.deepEqual([name, version, appVersion], [basename(folder), packageJson.version, packageJson.version]);
  const ajv = new Ajv({ strict: false });
  const isValid = ajv.compile(JSON.parse(read('values.schema.json')));
  assert.ok(isValid(values), ajv.errorsText(isValid.errors));
  for (const wrong of [
    { replicas: 3 },
    { masterKey: { value: 'short' } },
    { image: { repository: 'chancery', tag: 'latest' } },
    { settings: { CHANCERY_WEBHOOK_DAYS: 14 } },
    { settings: { WEBHOOK_DAYS: '14' } },
    { ingress: { enabled: true, hosts: [] } },
    { terminationGracePeriodSeconds: 10 },
    { postgres: { url: 'mysql://host' } },
  ])
    assert.ok(!isValid({ ...values, ...wrong }), JSON.stringify(wrong));
});

test('templates use values that there are, and every value is used', () => {
  const used = new Set(
    templates.flatMap(({ text }) =>
      [...text.matchAll(/\.Values((?:\.\w+)+)/g)].map(([, path = '']) => path.slice(1)),
    ),
  );
  const paths = pathsOf(values);
  for (const path of used) assert.ok(paths.has(path), `.Values.${path} is in no values.yaml`);
  for (const path of paths) {
    const isUsed = [...used].some(
      (one) => one === path || path.startsWith(`${one}.`) || one.startsWith(`${path}.`),
    );
    assert.ok(isUsed, `no template uses ${path}`);
  }
});

test('the chart names the variables of the service, and waits at a stop for as long as it takes', () => {
  const named = templates.flatMap(({ path, text }) => requireVariables(path, text));
  for (const name of ['CHANCERY_KEY', 'CHANCERY_POSTGRES', 'CHANCERY_FILES'])
    assert.ok(named.includes(name), name);
  requireVariables('values.yaml', read('values.yaml'));
  const fallback = serverFlags.find(({ name }) => name === 'stop-timeout')?.fallback;
  // Ten seconds for requests and five before them, in which the pod still gets some.
  assert.ok(values.terminationGracePeriodSeconds >= Number(fallback) + 15);
});

test('without helm too, templates say what is promised', () => {
  const all = templates.map(({ text }) => text).join('\n');
  for (const promise of [
    'runAsNonRoot: true',
    'readOnlyRootFilesystem: true',
    'allowPrivilegeEscalation: false',
    'drop: [ALL]',
    'automountServiceAccountToken: false',
    // Or a service named chancery would set CHANCERY_PORT.
    'enableServiceLinks: false',
    'path: /api/health/live',
    'path: /api/health/ready',
  ])
    assert.ok(all.includes(promise), promise);
  for (const { path, text } of templates)
    assert.equal(count(text, /\{\{-? (if|range|with|define)\b/g), count(text, /\{\{-? end\b/g), path);
});

const hasHelm = spawnSync('helm', ['version']).status === 0;

describe('helm', { skip: hasHelm ? false : 'not run: helm is not installed here' }, () => {
  test('finds nothing wrong with the chart', () => {
    const { status, stdout } = helm(['lint', folder, '--strict', '--set', `masterKey.value=${key}`]);
    assert.equal(status, 0, stdout);
  });

  test('makes one pod with a volume of its own for SQLite', () => {
    const objects = render([]);
    assert.deepEqual(kindsOf(objects), [
      'NetworkPolicy',
      'PersistentVolumeClaim',
      'Secret',
      'Service',
      'StatefulSet',
    ]);
    const { spec } = find(objects, 'StatefulSet');
    assert.equal(spec.replicas, 1);
    assert.deepEqual(find(objects, 'PersistentVolumeClaim').spec.accessModes, ['ReadWriteOnce']);
    assert.deepEqual(variablesOf(spec), ['CHANCERY_KEY']);
  });

  test('makes many pods for PostgreSQL, which share files, with all that was set', () => {
    const sets = [
      'postgres.enabled=true',
      'postgres.url=postgres://a@b/c',
      'ingress.enabled=true',
      'replicaCount=5',
    ];
    const lists = [
      'ingress.hosts={a.example.com}',
      'networkPolicy.allowCidrs={10.1.0.0/16}',
      'trustedProxies=10.0.0.0/8',
    ];
    const objects = render(
      [...sets, ...lists].flatMap((set) => ['--set', set.replaceAll(/(?<=proxies.*),/gi, '\\,')]),
    );
    assert.deepEqual(kindsOf(objects), [
      'Deployment',
      'Ingress',
      'NetworkPolicy',
      'PersistentVolumeClaim',
      'PodDisruptionBudget',
      'Secret',
      'Service',
    ]);
    const { spec } = find(objects, 'Deployment');
    assert.equal(spec.replicas, 5);
    assert.deepEqual(find(objects, 'PersistentVolumeClaim').spec.accessModes, ['ReadWriteMany']);
    assert.deepEqual(variablesOf(spec), [
      'CHANCERY_KEY',
      'CHANCERY_POSTGRES',
      'CHANCERY_FILES',
      'CHANCERY_TRUSTED_PROXIES',
    ]);
    assert.equal(find(objects, 'Ingress').spec.rules[0].host, 'a.example.com');
    assert.ok(JSON.stringify(find(objects, 'NetworkPolicy').spec.egress).includes('"cidr":"10.1.0.0/16"'));
  });

  test('uses secrets and a claim that there are, and makes none', () => {
    const secrets = ['masterKey.value=', 'masterKey.existingSecret=mine', 'persistence.existingClaim=disk'];
    const objects = render(secrets.flatMap((set) => ['--set', set]));
    assert.deepEqual(kindsOf(objects), ['NetworkPolicy', 'Service', 'StatefulSet']);
    const { spec } = find(objects, 'StatefulSet').spec.template;
    assert.equal(spec.containers[0].env[0].valueFrom.secretKeyRef.name, 'mine');
    assert.equal(spec.volumes[1].persistentVolumeClaim.claimName, 'disk');
  });

  test('refuses what would lose data or could not start', () => {
    const refusals: readonly (readonly [string, RegExp])[] = [
      ['masterKey.value=', /masterKey\.value or masterKey\.existingSecret is needed/],
      ['postgres.enabled=true', /postgres\.url or postgres\.existingSecret/],
      ['persistence.enabled=false', /everything would be lost with the pod/],
      ['replicaCount=0', /replicaCount/],
    ];
    for (const [set, reason] of refusals) {
      const { status, stderr } = template(['--set', set]);
      assert.notEqual(status, 0, set);
      assert.match(stderr, reason);
    }
  });
});

/** An object of Kubernetes, as far as the tests look at it. */
interface KubernetesObject {
  readonly kind: string;
  readonly spec: any; // oxlint-disable-line typescript/no-explicit-any
}

function helm(args: readonly string[]): {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
} {
  return spawnSync('helm', args, { encoding: 'utf8' });
}

function template(args: readonly string[]): ReturnType<typeof helm> {
  return helm([
    'template',
    'test',
    folder,
    '--kube-version',
    '1.32',
    '--set',
    `masterKey.value=${key}`,
    ...args,
  ]);
}

function render(args: readonly string[]): readonly KubernetesObject[] {
  const { status, stdout, stderr } = template(args);
  assert.equal(status, 0, stderr);
  return parseAllDocuments(stdout).flatMap((document) => {
    assert.deepEqual(document.errors, []);
    const object: KubernetesObject | null = document.toJS();
    return object === null ? [] : [object];
  });
}

function kindsOf(objects: readonly KubernetesObject[]): readonly string[] {
  return objects.map(({ kind }) => kind).toSorted();
}

function find(objects: readonly KubernetesObject[], kind: string): KubernetesObject {
  const object = objects.find((one) => one.kind === kind);
  assert.ok(object !== undefined, kind);
  return object;
}

function variablesOf(spec: KubernetesObject['spec']): readonly string[] {
  const variables: readonly { readonly name: string }[] = spec.template.spec.containers[0].env;
  return variables.map(({ name }) => name);
}

/** The path of each value, and of each object of values. */
function pathsOf(value: unknown, prefix = ''): ReadonlySet<string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return new Set();
  const paths = Object.entries(value).flatMap(([name, inner]) => [
    `${prefix}${name}`,
    ...pathsOf(inner, `${prefix}${name}.`),
  ]);
  return new Set(paths);
}

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}
