import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { root } from '../../tools/build/root.ts';
import { requireVariables } from '../support/deploy-variables.ts';
import { parseDockerfile } from '../support/dockerfile.ts';

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly args: Readonly<Record<string, string>> };
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly ipv4_address: string }>>;
  readonly ports?: readonly string[];
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly stop_grace_period?: string;
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
}

const files = ['docker-compose.yml', 'docker-compose.nodes.yml'] as const;
// The cast holds: there are two files.
const [one, nodes] = files.map(readCompose) as [Compose, Compose];

function readCompose(path: string): Compose {
  // The cast holds as far as the tests below look: a member that is missing or of another kind fails them.
  return parse(readFileSync(join(root, path), 'utf8'), { merge: true }) as Compose;
}

for (const [index, path] of files.entries()) {
  const { services, volumes, secrets } = index === 0 ? one : nodes;
  const ours = Object.entries(services).filter(([, { image }]) => image.startsWith('chancery:'));

  test(`${path} runs nodes of this version that can write nothing but their volume`, () => {
    assert.equal(ours.length, index === 0 ? 1 : 3);
    for (const [name, node] of ours) {
      assert.equal(node.image, `chancery:${packageJson.version}`, name);
      assert.deepEqual([node.read_only, node.tmpfs, node.cap_drop], [true, ['/tmp'], ['ALL']], name);
      assert.ok(node.security_opt?.includes('no-new-privileges:true'), name);
      // Ten seconds for requests, twenty for webhooks, and some to close files.
      assert.ok(Number.parseInt(node.stop_grace_period ?? '', 10) > 30, name);
      assert.deepEqual(
        node.volumes?.map((volume) => volume.split(':')[1]),
        [dataFolder()],
        name,
      );
    }
    const built = ours.flatMap(([, { build }]) => (build === undefined ? [] : [build]));
    assert.equal(built.length, 1, 'one of them builds the image for all');
    assert.deepEqual(Object.keys(built[0]?.args ?? {}), ['COMMIT', 'SOURCE_DATE_EPOCH']);
  });

  test(`${path} names no variable, volume, secret, file or image that is not there`, () => {
    requireVariables(path, readFileSync(join(root, path), 'utf8'));
    for (const [name, service] of Object.entries(services)) {
      assert.match(service.image, /:(?!latest$)[\w.-]+$/, name);
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':');
        assert.ok(source.startsWith('.') ? existsSync(join(root, source)) : source in volumes, volume);
      }
      for (const secret of service.secrets ?? []) assert.ok(secret in secrets, secret);
      for (const [variable, value] of Object.entries(service.environment ?? {}))
        if (variable.endsWith('_FILE'))
          assert.ok(
            service.secrets?.some((secret) => value === `/run/secrets/${secret}`),
            `${name} ${variable}`,
          );
    }
    const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n');
    for (const { file } of Object.values(secrets)) assert.match(file, /^\.\/secrets\//);
    assert.ok(ignored.includes('/secrets/'), 'secrets are not committed');
  });

  test(`docker compose accepts ${path}`, (t) => {
    // A part of Docker, or the older program of its own.
    const commands = [['docker', 'compose'], ['docker-compose']] as const;
    const found = commands.find(
      ([command, ...args]) => spawnSync(command, [...args, 'version']).status === 0,
    );
    if (found === undefined) return t.skip('not run: docker compose is not installed here');
    const [command, ...args] = found;
    const { status, stderr } = spawnSync(command, [...args, '--file', path, 'config', '--quiet'], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
  });
}

test('one node answers on this machine only, where the proxy is that it believes', () => {
  const { chancery } = one.services;
  assert.deepEqual(chancery?.ports, ['127.0.0.1:8090:8090']);
  const gateway = /gateway: ([\d.]+)/.exec(readFileSync(join(root, files[0]), 'utf8'))?.[1];
  assert.equal(chancery?.environment?.['CHANCERY_TRUSTED_PROXIES'], gateway);
});

test('many nodes believe their proxy by its address, know one key, one database and one folder for files', () => {
  const { proxy, postgres, ...rest } = nodes.services;
  const front = proxy?.networks;
  assert.ok(front !== undefined && !Array.isArray(front) && 'front' in front);
  const settings = Object.values(rest).map(({ environment, secrets, volumes, networks }) => ({
    environment,
    secrets,
    volumes,
    networks,
  }));
  const [first] = settings;
  for (const other of settings) assert.deepEqual(other, first);
  assert.equal(first?.environment?.['CHANCERY_TRUSTED_PROXIES'], front.front.ipv4_address);
  assert.ok(first?.environment?.['CHANCERY_FILES']?.startsWith(`${dataFolder()}/`));
  assert.deepEqual(
    proxy?.environment?.['NODES']?.split(' '),
    Object.keys(rest).map((name) => `${name}:8090`),
  );
  // Neither the proxy nor anybody outside reaches the database.
  assert.deepEqual([postgres?.networks, postgres?.ports], [['database'], undefined]);
  assert.equal(nodes.networks['database']?.internal, true);
  for (const [name, { ports }] of Object.entries(rest)) assert.equal(ports, undefined, name);
});

/** The folder that the image keeps data in. */
function dataFolder(): string {
  const { stages } = parseDockerfile(readFileSync(join(root, 'Dockerfile'), 'utf8'));
  return stages.at(-1)?.instructions.find(({ name }) => name === 'VOLUME')?.text ?? '';
}
