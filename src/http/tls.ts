import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { SecureContextOptions } from 'node:tls';

/** PEM files of a certificate chain and its key. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

/** What a TLS server is opened with, and given again when the files have changed. Throws when a file cannot be read. */
export function openTls(files: TlsFiles): SecureContextOptions & { readonly minVersion: 'TLSv1.2' } {
  return { cert: readFileSync(files.certificate), key: readFileSync(files.key), minVersion: 'TLSv1.2' };
}

/** How soon a renewed certificate is served. */
const lookIntervalMs = 1_000;

/** Gives the server the files again whenever one of them changes. New files that do not fit leave the old ones in force. */
export function watchTls(
  server: { setSecureContext(options: SecureContextOptions): void },
  files: TlsFiles,
  onError: (error: unknown) => void,
): { stop(): void } {
  const renew = (): void => {
    try {
      server.setSecureContext(openTls(files));
    } catch (error) {
      onError(error);
    }
  };
  const paths = [files.certificate, files.key];
  for (const path of paths) watchFile(path, { interval: lookIntervalMs, persistent: false }, renew);
  return { stop: () => paths.forEach((path) => unwatchFile(path, renew)) };
}
