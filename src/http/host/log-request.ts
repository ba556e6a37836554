import { systemClock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { ipAddressText } from '../../base/ip-address.ts';
import { superusersName } from '../../collections/collection.ts';
import type { Instance } from '../../instances/instance.ts';
import { cutText, levelOf, logLimits, maskUrl } from '../../logs/request-log.ts';
import { type Caller, type KeyBounds, portalOf, type Superuser } from '../../access/caller.ts';
import { toErrorAnswer } from '../error-response.ts';
import type { InstanceRequest } from '../instance-request.ts';

interface Answered {
  readonly instance: Instance;
  readonly caller: Caller;
  readonly addressOf: () => Uint8Array;
  readonly status: number;
  /** What a refused caller was told. */
  readonly refusal?: string;
}

/** What the log has of a request. */
export type LoggedRequest = Pick<
  InstanceRequest,
  'id' | 'method' | 'url' | 'headers' | 'peer' | 'startedMs' | 'report'
>;

/** Puts an answered request into the log of its instance, which writes it to disk later: no answer waits for that. */
export function logRequest(request: LoggedRequest, answered: Answered): void {
  request.report.isNoted = true;
  const { instance, caller, status } = answered;
  // That of a command in its own process. What it changes is in the audit log.
  if (caller.kind === 'superuser' && caller.isOperator === true) return;
  const level = levelOf(status);
  // Health probes come every second, and successful ones say nothing.
  if (!instance.logs.wants(level) || (level === 0 && isProbe(request))) return;
  const { method, url } = request;
  const maskedUrl = cutText(maskUrl(url), logLimits.urlLengthMax);
  instance.logs.note({
    at: instance.clock.now(),
    level,
    message: `${method} ${maskedUrl}`,
    data: cutMembers(
      membersOf(request, maskedUrl, answered),
      answered.instance.settings.current.logs.maxDataSize,
    ),
  });
}

/** Logs a request that an operation has refused, or that failed. */
export function logFailure(request: LoggedRequest, answered: Omit<Answered, 'status'>, error: unknown): void {
  const { status } = toErrorAnswer(error);
  logRequest(request, { ...answered, status, ...refusalOf(error) });
}

function isProbe({ url }: LoggedRequest): boolean {
  return url.startsWith('/api/health');
}

/** The members of a log entry, in alphabetical order. */
function membersOf(
  request: LoggedRequest,
  url: string,
  { instance, caller, addressOf, status, refusal }: Answered,
): Readonly<Record<string, unknown>> {
  const { logIP, logAuthId } = instance.settings.current.logs;
  const { method, headers, peer } = request;
  const portal = portalOf(caller);
  const referer = cutText(maskUrl(headers.referer ?? ''), logLimits.textLengthMax);
  return {
    auth: collectionOf(instance, caller),
    ...(logAuthId &&
      caller.kind !== 'guest' &&
      !isKey(caller) &&
      portal === undefined && { authId: caller.id }),
    ...(refusal !== undefined && { error: cutText(refusal, logLimits.textLengthMax) }),
    execTime: Math.round((systemClock.monotonic() - request.startedMs) * 1_000) / 1_000,
    // A key belongs to a program, so logAuthId, which is about the ids of accounts, does not govern it.
    ...(isKey(caller) && portal === undefined && { key: caller.id }),
    method,
    ...(portal !== undefined && { portal }),
    referer,
    ...(logIP && { remoteIP: ipAddressText(peer) }),
    requestId: request.id,
    status,
    type: 'request',
    url,
    userAgent: cutText(headers['user-agent'] ?? '', logLimits.textLengthMax),
    ...(logIP && { userIP: ipAddressText(addressOf()) }),
  };
}

/** Leaves out the last members of an entry that is too large, and says so as the reference does. */
function cutMembers(
  members: Readonly<Record<string, unknown>>,
  bytesMax: number,
): Readonly<Record<string, unknown>> {
  if (bytesMax === 0 || Buffer.byteLength(JSON.stringify(members)) <= bytesMax) return members;
  const { type } = members;
  const cut: Record<string, unknown> = { __pb_truncated__: true, type };
  for (const [name, value] of Object.entries(members)) {
    if (Buffer.byteLength(JSON.stringify({ ...cut, [name]: value })) > bytesMax) break;
    cut[name] = value;
  }
  return cut;
}

/** The name of the collection that the caller is a record of. */
function collectionOf({ collections }: Instance, caller: Caller): string {
  if (caller.kind === 'guest' || isKey(caller)) return '';
  if (caller.kind === 'superuser') return superusersName;
  return collections.find(caller.collectionId)?.name ?? '';
}

function isKey(caller: Caller): caller is Superuser & { readonly key: KeyBounds } {
  return caller.kind === 'superuser' && caller.key !== undefined;
}

function refusalOf(error: unknown): { readonly refusal?: string } {
  return error instanceof AppError ? { refusal: error.message } : {};
}
