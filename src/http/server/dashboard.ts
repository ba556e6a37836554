import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notFound } from '../../base/errors.ts';
import type { InstanceHost } from '../host/instance-host.ts';
import { hexDigest } from '../../secrets/digest.ts';
import { commonHeaders } from './send-answer.ts';
import {
  codingEndings,
  type DashboardCoding,
  type DashboardFile,
  listDashboardFiles,
  readDashboardFile,
} from './dashboard-files.ts';
import { hasInstancePrefix } from '../request.ts';
import { findAbsentFeature } from '../error-response.ts';

/**
 * Serves the dashboard, which is static files below `/_/` of every instance, and `/_/operator` of the operator. They are no part of the API: no rate limit counts them and no
 * request log holds them. An instance is opened for its page alone, as its settings name the sites that may have that in a frame.
 *
 * The page works below any path, `/i/{slug}/_/` or one that a proxy adds: nothing in it is an absolute path. It gets a relative base for
 * the depth of the path that was asked for, since every path that is no file is answered with the page, which finds its screen by the path.
 */
export function serveDashboard(app: FastifyInstance, host: InstanceHost): void {
  app.get('/', (request, reply) => sendBrowser(request, reply));
  app.get('/_', (request, reply) => redirect(request, reply, `${lastSegment(request)}/`));
  app.get('/_/*', (request, reply) => sendFile(request, reply, host));
}

/** Sends people to the dashboard, and tells programs that nothing is there, as ever. */
async function sendBrowser(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const isBrowser = request.headers.accept?.includes('text/html') === true;
  if (!isBrowser || request.instanceEntry === null) throw notFound();
  const segment = lastSegment(request);
  return redirect(request, reply, segment === '' ? '_/' : `${segment}/_/`);
}

/** Relative, as only the client knows the path that a proxy has in front of ours. */
async function redirect(request: FastifyRequest, reply: FastifyReply, to: string): Promise<FastifyReply> {
  if (request.instanceEntry === null) throw notFound();
  const headers = { ...commonHeaders(request), 'cache-control': 'no-cache', location: `./${to}` };
  return reply.code(302).headers(headers).send();
}

/** The end of the path as the client wrote it: `_` of `/i/shop/_?x=1`. */
function lastSegment({ originalUrl }: FastifyRequest): string {
  const [path = ''] = originalUrl.split('?', 1);
  return path.slice(path.lastIndexOf('/') + 1);
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  host: InstanceHost,
): Promise<FastifyReply> {
  const entry = request.instanceEntry;
  const path = pathOf(request);
  const isOperator = /^operator(?:\/|$)/.test(path);
  // As the API of the operator: on every host, never below the path of an instance. Its files are asked for where no instance is.
  if (isOperator && hasInstancePrefix(request.raw)) throw notFound();
  if (entry === null && !isOperator && !path.startsWith('assets/')) throw notFound();
  const absent = findAbsentFeature(`/_/${path}`);
  if (absent !== undefined) return refuse(request, reply, absent);
  const files = await listDashboardFiles();
  if (files === undefined) return refuse(request, reply, notBuilt);
  const file = files.find((one) => one.path === path && path !== page);
  if (file !== undefined) return sendContent(request, reply, file);
  // A page that was loaded before an update asks for files of that time: it must not get HTML for a script.
  if (path.startsWith('assets/')) return refuse(request, reply, 'The dashboard has no such file.');
  const index = files.find((one) => one.path === page);
  if (index === undefined) return refuse(request, reply, notBuilt);
  return sendPage(request, reply, {
    file: index,
    // No instance decides who has the operator's page in a frame.
    frameAncestors: entry === null || isOperator ? [] : await host.frameAncestors(entry),
  });
}

const page = 'index.html';
const notBuilt =
  'The dashboard is not built here. Run `npm run build:dashboard`, or `npm start`, which does so first.';

/** Answers past the error handler, which would put it into the request log of the API. */
function refuse(request: FastifyRequest, reply: FastifyReply, message: string): FastifyReply {
  const headers = { ...commonHeaders(request), 'content-type': 'application/json; charset=utf-8' };
  return reply
    .code(404)
    .headers(headers)
    .send(JSON.stringify({ data: {}, message, status: 404 }));
}

/** Returns the path below `/_/`. Not decoded: no file of ours has a name that would need it. */
function pathOf({ raw }: FastifyRequest): string {
  const [path = ''] = (raw.url ?? '').split('?', 1);
  return path.slice('/_/'.length);
}

async function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  file: DashboardFile,
): Promise<FastifyReply> {
  const coding = chooseCoding(request.headers['accept-encoding'] ?? '', file.codings);
  const ending = coding === undefined ? '' : codingEndings[coding];
  const content = await readDashboardFile(file.path + ending);
  if (content === undefined) return refuse(request, reply, 'The dashboard has no such file.');
  reply.headers({
    ...commonHeaders(request),
    ...pageHeaders([]),
    'content-type': file.type,
    'cache-control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'Accept-Encoding, Origin',
  });
  if (coding !== undefined) reply.header('content-encoding', coding);
  // Not the same bytes in another coding, so not the same tag.
  return sendUnlessKnown(request, reply, { etag: tagOf(file.etag, coding ?? ''), content });
}

/** Sends the page with the base for the depth of its path: `/_/c/posts` needs `../`. */
async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, frameAncestors }: { readonly file: DashboardFile; readonly frameAncestors: readonly string[] },
): Promise<FastifyReply> {
  const content = await readDashboardFile(file.path);
  if (content === undefined) return refuse(request, reply, notBuilt);
  const base = '../'.repeat(pathOf(request).split('/').length - 1) || './';
  const html = content.toString('utf8').replace('<base href="./"', `<base href="${base}"`);
  reply.headers({
    ...commonHeaders(request),
    ...pageHeaders(frameAncestors),
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
  });
  // The older header knows of no sites, and would keep these out.
  if (frameAncestors.length > 0) reply.removeHeader('x-frame-options');
  // A browser keeps the headers of a page that has not changed: with other sites it is another page.
  const sites = frameAncestors.length === 0 ? '' : hexDigest(frameAncestors.join(' ')).slice(0, 16);
  return sendUnlessKnown(request, reply, {
    etag: tagOf(file.etag, base + sites),
    content: Buffer.from(html),
  });
}

/**
 * Nothing comes from elsewhere and nothing is inline, so that a text of a record can never become a script. Images may also be `blob:`: the
 * previews of files that are still to be sent. No text can be assigned to what would run or parse it (`innerHTML`, `src` of a script), and no code may
 * make a policy of trusted types that would allow it.
 */
function pageHeaders(frameAncestors: readonly string[]): Readonly<Record<string, string>> {
  const sites = frameAncestors.length === 0 ? "'none'" : frameAncestors.join(' ');
  return {
    'content-security-policy': `default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'self'; form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors ${sites}`,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
  };
}

function tagOf(etag: string, variant: string): string {
  const kind = variant.replaceAll(/[^a-z0-9.]/g, '');
  return kind === '' ? `"${etag}"` : `"${etag}-${kind}"`;
}

function sendUnlessKnown(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { etag, content }: { readonly etag: string; readonly content: Buffer },
): FastifyReply {
  reply.header('etag', etag);
  const tags = (headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) ? reply.code(304).send() : reply.send(content);
}

/** Returns the best coding that the client takes, or undefined for none (RFC 9110 section 12.5.3). */
function chooseCoding(header: string, codings: readonly DashboardCoding[]): DashboardCoding | undefined {
  const accepted = new Map(
    header.split(',').map((part) => {
      const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      return [name, parameters.every((text) => !/^q=0(?:\.0*)?$/.test(text))];
    }),
  );
  return codings.find((coding) => accepted.get(coding) ?? accepted.get('*') ?? false);
}
