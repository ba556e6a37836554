import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { authenticate } from '../auth/authenticate.ts';
import { AppError } from '../base/errors.ts';
import type { InstanceDirectory, InstanceEntry } from '../instances/instance-directory.ts';
import { defaultSlug } from '../instances/instance-directory.ts';
import type { Instance } from '../instances/instance.ts';
import type { Loan } from '../instances/open-instances.ts';
import { guest, type Caller } from '../rules/caller.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The instance this request is for, lent for as long as the request lasts. */
    loan: Loan | null;
  }
}

export interface RequestContext {
  readonly instance: Instance;
  readonly caller: Caller;
}

/** What a route needs to know of where a request goes and who it comes from. */
export async function contextOf(request: FastifyRequest): Promise<RequestContext> {
  const instance = instanceOf(request);
  const { authorization } = request.headers;
  const caller = authorization === undefined ? guest : await authenticate(instance, authorization);
  return { instance, caller };
}

/** As {@link contextOf}, for routes that only superusers may use. */
export async function superuserContextOf(request: FastifyRequest): Promise<RequestContext> {
  const context = await contextOf(request);
  if (context.caller.kind === 'superuser') return context;
  throw new AppError('unauthorized', 'The request requires valid record authorization token.');
}

export function instanceOf(request: FastifyRequest): Instance {
  if (request.loan === null) throw new AppError('not_found', "The requested resource wasn't found.");
  return request.loan.instance;
}

/** The slug of `/i/{slug}/…`, kept beside the request because its path goes on without it. */
const slugs = new WeakMap<IncomingMessage, string>();

const PREFIX = /^\/i\/([^/?]*)(\/.*)$/;

export interface AddressOptions {
  readonly directory: InstanceDirectory;
  /** Unbound hosts mean no instance, not even the default one. */
  readonly strictHosts: boolean;
}

/** The path without `/i/{slug}`, on hosts that are bound to no instance. */
export function withoutInstancePrefix(request: IncomingMessage, { directory }: AddressOptions): string {
  const url = request.url ?? '/';
  if (!url.startsWith('/i/') || directory.findByHost(hostName(request)) !== undefined) return url;
  const [, slug, rest] = PREFIX.exec(url) ?? [];
  if (slug === undefined || rest === undefined) return url;
  slugs.set(request, slug);
  return rest;
}

/** The instance that a request's host or path means, or undefined. */
export function findAddressed(request: IncomingMessage, options: AddressOptions): InstanceEntry | undefined {
  const slug = slugs.get(request);
  if (slug !== undefined) return options.directory.findBySlug(slug);
  const bound = options.directory.findByHost(hostName(request));
  if (bound !== undefined) return bound;
  const entry = options.directory.findBySlug(defaultSlug);
  return entry?.host === null && !options.strictHosts ? entry : undefined;
}

function hostName(request: IncomingMessage): string {
  const host = (request.headers.host ?? '').toLowerCase();
  const colon = host.lastIndexOf(':');
  return colon > host.lastIndexOf(']') ? host.slice(0, colon) : host;
}
