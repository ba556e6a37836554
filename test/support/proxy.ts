import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { root } from '../../tools/build/root.ts';
import { makeCertificate } from './certificate.ts';
import { eventually } from './eventually.ts';
import { temporaryTree } from './temporary-tree.ts';

/** A proxy that deploy/ has a configuration for. */
export interface Proxy {
  readonly name: 'Caddy' | 'nginx';
  /** Its configuration in deploy/. */
  readonly path: string;
  readonly isInstalled: boolean;
  /** Checks the configuration and returns what it has to say against it. */
  readonly validate: (t: TestContext) => string;
  /** Starts it in front of these nodes and returns its URL; it ends with the test. */
  readonly start: (t: TestContext, nodes: readonly string[]) => Promise<string>;
}

const caddyPath = 'deploy/Caddyfile';
const nginxPath = 'deploy/nginx.conf';

export const proxies: readonly Proxy[] = [
  {
    name: 'Caddy',
    path: caddyPath,
    isInstalled: spawnSync('caddy', ['version']).status === 0,
    validate: (t) => {
      const args = ['--config', join(root, caddyPath), '--adapter', 'caddyfile'];
      const { status, stderr } = spawnSync('caddy', ['validate', ...args], {
        env: caddyEnvironment(t),
        encoding: 'utf8',
      });
      return status === 0 ? '' : stderr;
    },
    start: startCaddy,
  },
  {
    name: 'nginx',
    path: nginxPath,
    isInstalled: spawnSync('nginx', ['-v']).status === 0,
    validate: (t) => {
      const folder = nginxFolder(t, { nodes: ['127.0.0.1:8091'], port: 8443 });
      const { status, stderr } = spawnSync('nginx', ['-t', ...nginxArgs(folder)], { encoding: 'utf8' });
      return status === 0 ? '' : stderr;
    },
    start: startNginx,
  },
];

async function startCaddy(t: TestContext, nodes: readonly string[]): Promise<string> {
  const port = await freePort();
  // Plain HTTP on one port, without the port that changes its configuration.
  const tree = { Caddyfile: `{\n\tadmin off\n}\n${readFileSync(join(root, caddyPath), 'utf8')}` };
  const url = `http://127.0.0.1:${port}`;
  const environment = { ...caddyEnvironment(t), SITE: url, NODES: nodes.join(' ') };
  await run(
    t,
    ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(temporaryTree(t, tree), 'Caddyfile')],
    {
      environment,
      port,
    },
  );
  return url;
}

function caddyEnvironment(t: TestContext): NodeJS.ProcessEnv {
  const home = temporaryTree(t, {});
  return { ...process.env, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home };
}

async function startNginx(t: TestContext, nodes: readonly string[]): Promise<string> {
  const port = await freePort();
  const folder = nginxFolder(t, { nodes, port });
  await run(t, ['nginx', ...nginxArgs(folder)], { environment: process.env, port });
  return `http://127.0.0.1:${port}`;
}

/** A folder with our nginx.conf, in which only places and ports are others, and which speaks plain HTTP on one port. */
function nginxFolder(
  t: TestContext,
  { nodes, port }: { readonly nodes: readonly string[]; readonly port: number },
): string {
  const { key, cert } = makeCertificate({ names: ['localhost'] });
  const folder = temporaryTree(t, { 'chancery.key': key, 'chancery.crt': cert });
  const changes: readonly (readonly [string | RegExp, string])[] = [
    [/ {4}server 127\.0\.0\.1:8090 (.*)/, nodes.map((node) => `    server ${node} $1`).join('\n')],
    [/ {2}server \{\n {4}listen 80;\n.*\n {2}\}\n/, ''],
    ['listen 443 ssl http2;', `listen 127.0.0.1:${port};`],
    ['/etc/nginx/chancery.crt', join(folder, 'chancery.crt')],
    ['/etc/nginx/chancery.key', join(folder, 'chancery.key')],
    ['/var/log/nginx/access.log', join(folder, 'access.log')],
    // Its workers must reach the folder, which is of the user who runs the test.
    ['events {', `${process.getuid?.() === 0 ? 'user root;\n' : ''}pid ${join(folder, 'pid')};\nevents {`],
    ['http {', `http {\n${nginxPlaces(folder)}`],
  ];
  let text = readFileSync(join(root, nginxPath), 'utf8');
  for (const [what, replacement] of changes) {
    const changed = text.replace(what, replacement);
    assert.notEqual(changed, text, `${nginxPath} has no ${String(what)}`);
    text = changed;
  }
  return temporaryTree(t, { 'nginx.conf': text });
}

function nginxPlaces(folder: string): string {
  mkdirSync(join(folder, 'places'));
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return kinds.map((kind) => `${kind}_temp_path ${join(folder, 'places', kind)};\n`).join('');
}

function nginxArgs(folder: string): readonly string[] {
  return ['-c', join(folder, 'nginx.conf'), '-p', folder, '-e', 'stderr', '-g', 'daemon off;'];
}

/** A port that was free a moment ago: proxies do not say which one they took. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A server on a port has such an address.
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a proxy and waits until it takes connections. */
async function run(
  t: TestContext,
  [command = '', ...args]: readonly string[],
  { environment, port }: { readonly environment: NodeJS.ProcessEnv; readonly port: number },
): Promise<void> {
  const child = spawn(command, args, { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const exited = once(child, 'exit');
  t.after(async () => {
    // nginx ends its workers on this, which it would leave behind on SIGKILL.
    child.kill('SIGTERM');
    await exited;
  });
  await eventually(`${command} listens`, async () => {
    if (child.exitCode !== null) throw new Error(log);
    const answer = await fetch(`http://127.0.0.1:${port}/api/health/live`);
    return answer.status > 0;
  });
}
