import type { Egress, EgressProxy } from '../network/proxy-tunnel.ts';
import { readCertificates } from '../secrets/read-certificates.ts';
import { ConfigError } from './config-error.ts';
import { readText } from './read-values.ts';

/** Reads the flags `webhook-proxy` and `webhook-ca`. Throws ConfigError. */
export function readEgress(read: (name: string) => string | undefined): Egress {
  const [proxy, file] = [read('webhook-proxy'), read('webhook-ca')];
  return {
    proxy: proxy === undefined ? undefined : readProxy(proxy),
    authorities: file === undefined ? undefined : readAuthorities(file),
  };
}

/** The URL is not shown in errors: it may hold a password. */
function readProxy(text: string): EgressProxy {
  const url = URL.parse(text);
  const isBare = url?.pathname === '/' && url.search === '' && url.hash === '';
  if (url?.protocol !== 'http:' || url.hostname === '' || !isBare)
    throw new ConfigError('--webhook-proxy must be a URL like http://user:password@proxy.example:3128.');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = url.port === '' ? 80 : Number(url.port);
  if (url.username === '' && url.password === '') return { host, port };
  const credentials = Buffer.from(`${decoded(url.username)}:${decoded(url.password)}`).toString('base64');
  return { host, port, authorization: `Basic ${credentials}` };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new ConfigError('--webhook-proxy: the user or the password is not percent-encoded.', {
      cause: error,
    });
  }
}

function readAuthorities(file: string): readonly string[] {
  const certificates = readCertificates(readText('webhook-ca', file));
  if ('damaged' in certificates)
    throw new ConfigError(`--webhook-ca: certificate ${certificates.damaged} of ${file} cannot be read.`);
  if (certificates.length === 0) throw new ConfigError(`--webhook-ca: ${file} holds no certificate (PEM).`);
  return certificates.map(({ pem }) => pem);
}
