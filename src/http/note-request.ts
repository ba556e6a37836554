import type { FastifyRequest } from 'fastify';
import { systemClock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { ipAddressText } from '../base/ip-address.ts';
import type { Instance } from '../instances/instance.ts';
import type { OpenInstances } from '../instances/open-instances.ts';
import { superusersName } from '../instances/system-collections.ts';
import { cutText } from '../logs/cut-text.ts';
import { levelOf } from '../logs/log-entry.ts';
import { logLimits } from '../logs/log-limits.ts';
import { maskUrl } from '../logs/mask-url.ts';
import { guest, type Caller, type KeyBounds, type Superuser } from '../rules/caller.ts';
import { toErrorAnswer } from './error-response.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** When it came, for how long it took: milliseconds from an arbitrary start. */
    startedMs: number;
    /** Whether the log of its instance knows it already. */
    isNoted: boolean;
  }
}

interface Answered {
  readonly instance: Instance;
  readonly caller: Caller;
  readonly status: number;
  /** What a refused caller was told. */
  readonly refusal?: string;
}

/** Puts an answered request into the log of its instance, in memory: what that costs is paid after the answer. */
export function noteRequest(request: FastifyRequest<object>, answered: Answered): void {
  request.isNoted = true;
  const { instance, status } = answered;
  const level = levelOf(status);
  // Probes come every second and tell nothing as long as all is well.
  if (!instance.logs.wants(level) || (level === 0 && isProbe(request))) return;
  const { method = '', url = '' } = request.raw;
  const shown = cutText(maskUrl(url), logLimits.urlLengthMax);
  instance.logs.note({
    at: instance.clock.now(),
    level,
    message: `${method} ${shown}`,
    data: membersOf(request, shown, answered),
  });
}

/** A request that an operation has refused, or failed. */
export function noteFailure(
  request: FastifyRequest<object>,
  { instance, caller }: Omit<Answered, 'status'>,
  error: unknown,
): void {
  const { status } = toErrorAnswer(error);
  noteRequest(request, { instance, caller, status, ...refusalOf(error) });
}

/**
 * A request that was refused before anybody looked at its instance. One whose files are closed stays so: whoever asks for
 * nothing but unknown paths does not keep it open.
 */
export function noteRefusal(request: FastifyRequest, instances: OpenInstances, error: unknown): void {
  if (request.isNoted || request.instanceEntry === null) return;
  const loan = instances.borrowOpen(request.instanceEntry.id);
  if (loan === undefined) return;
  noteFailure(request, { instance: loan.instance, caller: guest }, error);
  loan.release();
}

function isProbe({ raw }: FastifyRequest<object>): boolean {
  return raw.url?.startsWith('/api/health') === true;
}

/** In the order of their names. */
function membersOf(
  request: FastifyRequest<object>,
  url: string,
  { instance, caller, status, refusal }: Answered,
): Readonly<Record<string, unknown>> {
  const { logIP, logAuthId } = instance.settings.current.logs;
  const { method, headers, socket } = request.raw;
  const referer = cutText(maskUrl(headers.referer ?? ''), logLimits.textLengthMax);
  return {
    auth: collectionOf(instance, caller),
    ...(logAuthId && caller.kind !== 'guest' && !isKey(caller) && { authId: caller.id }),
    ...(refusal !== undefined && { error: cutText(refusal, logLimits.textLengthMax) }),
    execTime: Math.round((systemClock.monotonic() - request.startedMs) * 1_000) / 1_000,
    // Of a program, so that it is nothing that logAuthId would have to keep out.
    ...(isKey(caller) && { key: caller.id }),
    method,
    referer,
    ...(logIP && { remoteIP: socket.remoteAddress ?? '' }),
    requestId: request.id,
    status,
    type: 'request',
    url,
    userAgent: cutText(headers['user-agent'] ?? '', logLimits.textLengthMax),
    ...(logIP && { userIP: ipAddressText(request.server.admission.addressOf(instance, request)) }),
  };
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
