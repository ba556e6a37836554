import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { readCommit } from '../../tools/build/read-commit.ts';
import { root } from '../../tools/build/root.ts';
import { requireVariables } from '../support/deploy-variables.ts';
import { checkDockerfile, parseDockerfile } from '../support/dockerfile.ts';
import { endWith, MainProcess, serveMain } from '../support/main-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const text = readFileSync(join(root, 'Dockerfile'), 'utf8');
const ignore = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');

/** Whether a path is there, and .dockerignore, which leaves everything out but some names, lets it through. */
function isSent(path: string): boolean {
  const clean = path.replace(/\/$/, '');
  const names = ignore.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
  return (
    existsSync(join(root, clean)) && names.some((name) => clean === name || clean.startsWith(`${name}/`))
  );
}

test('the Dockerfile makes what is promised', () => {
  assert.deepEqual(checkDockerfile(parseDockerfile(text), isSent), []);
  const { stages } = parseDockerfile(text);
  const versions = stages.map(({ image }) => Number(/^node:(\d+)/.exec(image)?.[1]));
  for (const version of versions)
    assert.ok(version > 24, `Node ${version} is older than package.json allows`);
  assert.match(text, new RegExp(`image\\.version="${RegExp.escape(packageJson.version)}"`));
  assert.ok(requireVariables('Dockerfile', text).includes('CHANCERY_DATA'));
});

/** Each is a Dockerfile that would break one promise. */
const breaches: readonly (readonly [string | RegExp, string, RegExp])[] = [
  ['USER 10001:10001', 'USER node', /number of a user/],
  ['USER 10001:10001', 'USER 0', /number of a user/],
  [/^HEALTHCHECK .*$/m, '', /HEALTHCHECK/],
  [/^HEALTHCHECK .*$/m, 'HEALTHCHECK CMD curl localhost', /HEALTHCHECK/],
  ['ENTRYPOINT ["chancery"]', 'ENTRYPOINT chancery', /signal/],
  ['STOPSIGNAL SIGTERM', '', /STOPSIGNAL/],
  ['NODE=26-trixie-slim', 'NODE=latest', /no version/],
  ['node:${NODE} AS', 'node AS', /no version/],
  ['VOLUME /var/lib/chancery', '', /volume/],
  ['COPY src src', 'COPY sources src', /sources does not get/],
  ['COPY src src', 'COPY test test', /test does not get/],
  ['COPY src src', 'ADD src src', /ADD/],
  ['--from=build /out/', '--from=builder /out/', /no stage builder/],
  ['EXPOSE 8090', 'EXPOSE 8090\nRUN chmod -R 777 /opt', /last stage/],
  [/image\.version="[^"]*"/, 'image.title=""', /label/],
];
for (const [what, replacement, problem] of breaches)
  test(`a Dockerfile with ${JSON.stringify(replacement)} in place of ${String(what)} is refused`, () => {
    const changed = text.replace(what, replacement);
    assert.notEqual(changed, text);
    assert.match(checkDockerfile(parseDockerfile(changed), isSent).join('\n'), problem);
  });

test('nothing is sent to the builder that is not named, such as data, secrets and packages', () => {
  assert.equal(
    ignore.find((line) => line !== '' && !line.startsWith('#')),
    '*',
  );
  for (const path of ['data', 'secrets', 'node_modules', '.git', '.env', 'dist'])
    assert.ok(!isSent(path), path);
});

test('a build without a repository says of itself what its variables say', (t) => {
  const { PATH } = process.env;
  t.after(() => {
    process.env['PATH'] = PATH;
    delete process.env['COMMIT'];
    delete process.env['SOURCE_DATE_EPOCH'];
  });
  // No git is found, as in the image that builds.
  process.env['PATH'] = temporaryFolder(t);
  assert.equal(readCommit(), undefined);
  Object.assign(process.env, { COMMIT: 'c0ffee'.padEnd(40, '0'), SOURCE_DATE_EPOCH: '1700000000' });
  assert.deepEqual(readCommit(), { name: 'c0ffee'.padEnd(40, '0'), time: '2023-11-14T22:13:20.000Z' });
  process.env['COMMIT'] = '"; rm';
  assert.equal(readCommit(), undefined);
});

test('the check of the health tells a service that is ready from one that is not, and from none', async (t) => {
  const { url, process: server } = await serveMain(t, temporaryFolder(t));
  const { port } = new URL(url);
  assert.deepEqual(await checkHealth(t, port), [0, '200\n']);
  server.kill('SIGTERM');
  await server.ended;
  assert.deepEqual(await checkHealth(t, port), [1, `connect ECONNREFUSED 127.0.0.1:${port}\n`]);

  const degraded = createServer((_request, response) => response.writeHead(503).end()).listen(0, '127.0.0.1');
  t.after(() => degraded.close());
  await once(degraded, 'listening');
  // A server on a port has such an address.
  const address = degraded.address() as AddressInfo;
  assert.deepEqual(await checkHealth(t, String(address.port)), [1, '503\n']);
});

async function checkHealth(t: TestContext, port: string): Promise<readonly [number | null, string]> {
  const program = [process.execPath, join(root, 'deploy/healthcheck.mjs')];
  const { code, stdout } = await endWith(t, new MainProcess([], { CHANCERY_PORT: port }, { program })).ended;
  return [code, stdout];
}

test('the image is built and answers', (t) => {
  const docker = spawnSync('docker', ['info'], { encoding: 'utf8' });
  if (docker.status !== 0) return t.skip('not run: no container runtime answers here');
  const tag = 'chancery:deploy-test';
  const built = spawnSync('docker', ['build', '--tag', tag, root], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  t.after(() => spawnSync('docker', ['image', 'rm', tag]));
  const version = spawnSync('docker', ['run', '--rm', '--read-only', tag, 'version', '--json'], {
    encoding: 'utf8',
  });
  assert.equal(version.status, 0, version.stderr);
  assert.match(version.stdout, new RegExp(`"version":"${RegExp.escape(packageJson.version)}"`));
});
