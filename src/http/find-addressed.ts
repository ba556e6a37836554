import type { IncomingMessage } from 'node:http';
import type { InstanceDirectory, InstanceEntry } from '../instances/instance-directory.ts';
import { defaultSlug } from '../instances/instance-directory.ts';

/** The slug of `/i/{slug}/…`, kept beside the request because its path goes on without it. */
const slugs = new WeakMap<IncomingMessage, string>();

const PREFIX = /^\/i\/([^/?]*)(\/.*)$/;

export interface AddressOptions {
  readonly directory: InstanceDirectory;
  /** Unbound hosts mean no instance, neither the default one nor the one of a slug. */
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
  const bound = options.directory.findByHost(hostName(request));
  if (bound !== undefined || options.strictHosts) return bound;
  const slug = slugs.get(request);
  if (slug !== undefined) return options.directory.findBySlug(slug);
  const entry = options.directory.findBySlug(defaultSlug);
  return entry?.host === null ? entry : undefined;
}

function hostName(request: IncomingMessage): string {
  const host = (request.headers.host ?? '').toLowerCase();
  const colon = host.lastIndexOf(':');
  const name = colon > host.lastIndexOf(']') ? host.slice(0, colon) : host;
  // `a.example.` is the full form of `a.example` (RFC 1034 section 3.1), and the same instance.
  return name.endsWith('.') ? name.slice(0, -1) : name;
}
