import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, portalOf } from '../../access/caller.ts';
import { systemClock } from '../../base/clock.ts';
import { ipAddressText } from '../../base/ip-address.ts';
import { toIsoTimestamp, toTimestamp } from '../../base/timestamp.ts';
import { cutText, logLimits, maskUrl } from '../../logs/request-log.ts';
import { peerAddress } from '../client-address.ts';
import { reportOf } from '../instance-request.ts';
import { traceOf } from '../rule-input.ts';

/** Writes a line for each request, for the operator. Instances have logs of their own, for their superusers (logs/request-log.ts). */
export class AccessLog {
  readonly #write: (line: string) => void;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  /** Call it when a request begins: it is written when its answer is over, also if the client has gone away. */
  follow(request: FastifyRequest, { raw: response }: FastifyReply): void {
    const { socket } = request.raw;
    const bytesBefore = socket.bytesWritten;
    response.once('close', () => {
      const bytes = socket.bytesWritten - bytesBefore;
      this.#write(`${JSON.stringify({ ...membersOf(request), status: response.statusCode, bytes })}\n`);
    });
  }
}

/** Never a header or a body, and no value of the query that could be a credential. */
function membersOf(request: FastifyRequest): Readonly<Record<string, unknown>> {
  const { method } = request.raw;
  const { instanceEntry, server } = request;
  const report = reportOf(request);
  const { caller, address } = report;
  return {
    time: toIsoTimestamp(toTimestamp(systemClock.now())),
    type: 'access',
    requestId: request.id,
    method,
    path: cutText(maskUrl(request.originalUrl), logLimits.urlLengthMax),
    route: server.requestCounts.routeOf(request),
    ms: Math.round((systemClock.monotonic() - request.startedMs) * 1_000) / 1_000,
    instance: instanceEntry?.slug ?? '',
    callerKind: kindOf(caller),
    caller: caller === null || caller.kind === 'guest' ? '' : caller.id,
    // By the settings of the instance, which say what a proxy writes; of a closed one they are not known.
    remoteAddress: ipAddressText(address === null ? peerAddress(request.raw.socket) : address()),
    traceparent: traceOf({ headers: request.headers, report }).traceparent,
  };
}

function kindOf(caller: Caller | null): string {
  if (caller === null) return 'guest';
  if (portalOf(caller) !== undefined) return 'portal';
  return caller.kind === 'superuser' && caller.key !== undefined ? 'key' : caller.kind;
}
