import { isIP } from 'node:net';
import { nodeTls } from './open-socket.ts';

/** The certificate that a server shows. */
export interface ServedCertificate {
  /** In milliseconds since 1970. */
  readonly end: number;
  /** Why clients refuse it; undefined for one that they trust. */
  readonly problem: string | undefined;
}

/** Connects to a server, looks at its certificate and sends nothing. Rejects when there is no TLS in time. */
export function servedCertificate(
  { host, port }: { readonly host: string; readonly port: number },
  timeoutMs: number,
): Promise<ServedCertificate> {
  const { promise, resolve, reject } = Promise.withResolvers<ServedCertificate>();
  // One that has expired is to be looked at as well.
  const options = { host, port, rejectUnauthorized: false, ...(isIP(host) === 0 && { servername: host }) };
  const socket = nodeTls.connect(options, () => {
    const { authorized, authorizationError } = socket;
    const end = Date.parse(socket.getPeerCertificate().valid_to);
    resolve({ end, problem: authorized ? undefined : String(authorizationError) });
    socket.destroy();
  });
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error('no answer in time')));
  socket.once('error', reject);
  return promise;
}
