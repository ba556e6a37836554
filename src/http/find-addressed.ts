import type { IncomingMessage } from 'node:http';
import type { InstanceDirectory, InstanceEntry } from '../instances/instance-directory.ts';
import { defaultSlug } from '../instances/instance-directory.ts';
import { hostName } from './host-name.ts';

/** The slug of `/i/{slug}/…`, kept beside the request because its path goes on without it. */
const slugs = new WeakMap<IncomingMessage, string>();

const PREFIX = /^\/i\/([^/?]*)(\/.*)$/;

export interface AddressOptions {
  readonly directory: InstanceDirectory;
  /** Unbound hosts mean no instance, neither the default one nor the one of a slug. */
  readonly strictHosts: boolean;
}

/** The path without `/i/{slug}`, on hosts that are bound to no instance. */
export function withoutInstancePrefix(request: IncomingMessage, options: AddressOptions): string {
  const url = request.url ?? '/';
  if (!url.startsWith('/i/') || findBound(request, options) !== undefined) return url;
  const [, slug, rest] = PREFIX.exec(url) ?? [];
  if (slug === undefined || rest === undefined) return url;
  slugs.set(request, slug);
  return rest;
}

/** The instance that a request's host or path means, or undefined. */
export function findAddressed(request: IncomingMessage, options: AddressOptions): InstanceEntry | undefined {
  const bound = findBound(request, options);
  if (bound !== undefined || options.strictHosts) return bound;
  const slug = slugs.get(request);
  if (slug !== undefined) return options.directory.findBySlug(slug);
  const entry = options.directory.findBySlug(defaultSlug);
  return entry?.host === null ? entry : undefined;
}

/** None where the header is not valid: such a request is refused. */
function findBound({ headers }: IncomingMessage, { directory }: AddressOptions): InstanceEntry | undefined {
  const name = hostName(headers.host ?? '');
  return name === undefined ? undefined : directory.findByHost(name);
}
