import { readFileSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import { assert } from '../base/assert.ts';
import type { Logger } from '../base/logger.ts';
import { nodeTls } from '../network/node-tls.ts';

/** PEM files of a certificate chain and its key. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

/** A part of what node:tls takes. */
interface TlsContext {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly minVersion: 'TLSv1.2';
}

/** What a TLS server is opened with, and given again when the files have changed. Throws when a file cannot be read. */
export function openTls(files: TlsFiles): TlsContext {
  return { cert: readFileSync(files.certificate), key: readFileSync(files.key), minVersion: 'TLSv1.2' };
}

/** How soon a renewed certificate is served. */
const lookIntervalMs = 1_000;

/**
 * Gives the server the files again whenever one of them has changed. New files that do not fit leave the old ones in force.
 * What is compared are the bytes: times of files are too coarse, and a change just before the first look would be missed.
 */
export function watchTls(server: HttpServer, files: TlsFiles, logger: Logger): { stop(): void } {
  // Opened with such files it is one, whatever its type says.
  const tlsServer: object = server;
  assert(tlsServer instanceof nodeTls.Server, 'a server with a certificate is one of node:tls');
  let last = '';
  const look = (): void => {
    let seen = 'unreadable';
    try {
      const context = openTls(files);
      seen = `${String(context.cert)}\n${String(context.key)}`;
      if (seen !== last) tlsServer.setSecureContext(context);
    } catch (error) {
      // Once for each state of the files, not once a second.
      if (seen !== last)
        logger.error('The certificate could not be read again; the old one stays in force.', { error });
    }
    last = seen;
  };
  const timer = setInterval(look, lookIntervalMs).unref();
  return { stop: () => clearInterval(timer) };
}
