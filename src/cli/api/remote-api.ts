import { ConfigError } from '../../config/config-error.ts';
import { type Api, apiOver, type ReceivedAnswer, type SentRequest, Unreachable } from './api.ts';

export interface RemotePlace {
  /** Of the service, or of one of its instances (`https://host/i/acme`). */
  readonly url: string;
  /** The slug of an instance, whose place below the URL is `/i/SLUG`; undefined for that of the URL itself. */
  readonly instance: string | undefined;
  /** The token of a superuser, or an API key; undefined for a guest. */
  readonly token: string | undefined;
  readonly version: string;
}

/** The Api of a service that is reached over the network. Throws ConfigError for a URL that is none. */
export function remoteApi({ url, instance, token, version }: RemotePlace): Api {
  const base = `${baseOf(url)}${instance === undefined ? '' : `/i/${encodeURIComponent(instance)}`}`;
  const common = {
    'user-agent': `chancery/${version}`,
    ...(token !== undefined && { authorization: token }),
  };
  return apiOver(base, (request) => send(base, { ...request, headers: { ...common, ...request.headers } }));
}

/** Returns the URL without a slash at its end. Throws ConfigError for one of another kind. */
export function baseOf(url: string): string {
  const parsed = URL.parse(url);
  const isUsable = parsed !== null && ['http:', 'https:'].includes(parsed.protocol);
  // The URL itself is not shown where it holds a password.
  if (parsed !== null && (parsed.username !== '' || parsed.password !== ''))
    throw new ConfigError('--url must have no user or password in it: those are given by --token.');
  if (!isUsable || parsed.search !== '' || parsed.hash !== '')
    throw new ConfigError(
      `--url must be a URL like https://chancery.example.com, not ${JSON.stringify(url)}.`,
    );
  return `${parsed.origin}${parsed.pathname}`.replace(/\/+$/, '');
}

async function send(
  base: string,
  { method, path, headers, body, signal }: SentRequest,
): Promise<ReceivedAnswer> {
  try {
    const answer = await fetch(base + path, {
      method,
      headers,
      signal,
      ...(body !== undefined && { body }),
      // Followed, a POST would become a GET.
      redirect: 'manual',
    });
    const { status } = answer;
    return {
      status,
      type: answer.headers.get('content-type') ?? '',
      text: await answer.text(),
      location: answer.headers.get('location') ?? undefined,
      retryAfterSeconds: Number(answer.headers.get('retry-after') ?? '') || undefined,
    };
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Unreachable(`${base} cannot be reached: ${reasonOf(error)}.`, { cause: error });
  }
}

/** Returns why a request failed. What fetch throws says only that; its cause says why. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof AggregateError && error.cause.errors.length > 0)
    return reasonOf(error.cause.errors[0]);
  return error.cause instanceof Error ? reasonOf(error.cause) : error.message.replace(/\.$/, '');
}
