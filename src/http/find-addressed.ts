import type { IncomingMessage } from 'node:http';
import type { InstanceDirectory, InstanceEntry } from '../instances/instance-directory.ts';
import { defaultSlug } from '../instances/instance-directory.ts';
import { hostName } from './host-name.ts';

/** The slug of each request to `/i/{slug}/…`, kept here because the path is routed without it. */
const slugs = new WeakMap<IncomingMessage, string>();

const PREFIX = /^\/i\/([^/?]*)(\/.*)$/;

export interface AddressOptions {
  readonly directory: InstanceDirectory;
  /** When true, a host that is bound to no instance addresses none: neither the default one nor the one of a slug. */
  readonly strictHosts: boolean;
}

/** Returns the path without `/i/{slug}`; unchanged on hosts that are bound to an instance. */
export function withoutInstancePrefix(request: IncomingMessage, options: AddressOptions): string {
  const url = request.url ?? '/';
  if (!url.startsWith('/i/') || findBound(request, options) !== undefined) return url;
  const [, slug, rest] = PREFIX.exec(url) ?? [];
  if (slug === undefined || rest === undefined) return url;
  slugs.set(request, slug);
  return rest;
}

/** Returns the instance that a request's host or path addresses, or undefined. */
export function findAddressed(request: IncomingMessage, options: AddressOptions): InstanceEntry | undefined {
  const bound = findBound(request, options);
  if (bound !== undefined || options.strictHosts) return bound;
  const slug = slugs.get(request);
  if (slug !== undefined) return options.directory.findBySlug(slug);
  const entry = options.directory.findBySlug(defaultSlug);
  return entry?.host === null ? entry : undefined;
}

/** Finds nothing for an invalid Host header: checkRequest refuses such a request. */
function findBound({ headers }: IncomingMessage, { directory }: AddressOptions): InstanceEntry | undefined {
  const name = hostName(headers.host ?? '');
  return name === undefined ? undefined : directory.findByHost(name);
}
