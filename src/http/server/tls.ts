import { readFileSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import { assert } from '../../base/assert.ts';
import type { Logger } from '../../base/logger.ts';
import { nodeTls } from '../../network/open-socket.ts';

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

/** Reads the options that a TLS server is created with, and given again when the files change. Throws when a file cannot be read. */
export function openTls(files: TlsFiles): TlsContext {
  return {
    cert: readPem('tls-cert', files.certificate),
    key: readPem('tls-key', files.key),
    minVersion: 'TLSv1.2',
  };
}

function readPem(flag: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`--${flag}: ${reason}`, { cause: error });
  }
}

/** How soon a renewed certificate is served. */
const lookIntervalMs = 1_000;

/**
 * Reloads certificate and key whenever one of the files has changed. New files that do not fit leave the old ones in force.
 * Compares contents, since file times are too coarse: a change just before the first look would be missed.
 */
export function watchTls(server: HttpServer, files: TlsFiles, logger: Logger): { stop(): void } {
  // A server that was created with a certificate is a TLS server, whatever its type says.
  const tlsServer: object = server;
  assert(tlsServer instanceof nodeTls.Server, 'a server with a certificate is one of node:tls');
  let last = '';
  const look = (): void => {
    let current = 'unreadable';
    try {
      const context = openTls(files);
      current = `${String(context.cert)}\n${String(context.key)}`;
      if (current !== last) tlsServer.setSecureContext(context);
    } catch (error) {
      // Logged once for each state of the files, not once a second.
      if (current !== last)
        logger.error('The certificate could not be reloaded; the old one stays in use.', { error });
    }
    last = current;
  };
  const timer = setInterval(look, lookIntervalMs).unref();
  return { stop: () => clearInterval(timer) };
}
