import { randomHex } from './ids.ts';

/**
 * The trace that a request belongs to (W3C Trace Context, https://www.w3.org/TR/trace-context/). Each participant sends on the id of the trace and
 * whether it is recorded, with the id of its own part of the work, a span.
 */
export interface Trace {
  /** As the header: `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`, with the span of this service. */
  readonly traceparent: string;
  /** What tracing systems have noted for themselves, as the header; empty for nothing. */
  readonly tracestate: string;
}

/** The headers of a request by which it belongs to a trace. */
export interface TraceHeaders {
  readonly traceparent?: string | readonly string[] | undefined;
  readonly tracestate?: string | readonly string[] | undefined;
}

/**
 * Goes on with the trace of a request, or begins one where the request has no valid `traceparent`. A trace that begins here is not recorded, and
 * its flag reports that downstream: this service records none.
 */
export function continueTrace({ traceparent, tracestate }: TraceHeaders): Trace {
  // Repeated, it arrives as a list, which is not valid.
  const parent = typeof traceparent === 'string' ? readParent(traceparent) : undefined;
  if (parent === undefined) return { traceparent: `00-${randomHex(16)}-${randomHex(8)}-00`, tracestate: '' };
  return {
    traceparent: `00-${parent.traceId}-${randomHex(8)}-${parent.isSampled ? '01' : '00'}`,
    tracestate: readState(tracestate),
  };
}

/** Returns the header of a further part of the work in the same trace. */
export function nextSpan(traceparent: string): string {
  return `${traceparent.slice(0, 36)}${randomHex(8)}${traceparent.slice(52)}`;
}

/** As one text, to be stored. */
export function traceText({ traceparent, tracestate }: Trace): string {
  return tracestate === '' ? traceparent : `${traceparent} ${tracestate}`;
}

/** Reads a text of `traceText`. */
export function toTrace(text: string): Trace {
  const [traceparent = ''] = text.split(' ', 1);
  return { traceparent, tracestate: text.slice(traceparent.length + 1) };
}

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
/** Forbidden, as it would read as an error. */
const versionForbidden = 'ff';
const sampledFlag = 1;

interface TraceParent {
  readonly traceId: string;
  readonly isSampled: boolean;
}

/** Of a later version, only the members of the first one are read; more may follow. */
function readParent(header: string): TraceParent | undefined {
  const [, version = '', traceId = '', spanId = '', flags = '', more] = PARENT.exec(header.trim()) ?? [];
  if (version === '' || version === versionForbidden || (version === '00' && more !== undefined))
    return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) === sampledFlag };
}

const stateMembersMax = 32;
/** A participant should send on this much at least, and may drop entries beyond, first those that are long. */
const stateLengthMax = 512;
const longMember = 128;
const MEMBER =
  /^(?:[a-z][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/** Returns a valid `tracestate` as one header, and an empty text for any other: then the trace goes on without it. */
function readState(header: string | readonly string[] | undefined): string {
  const members = [header ?? []]
    .flat()
    .join(',')
    .split(',')
    .map((member) => member.replaceAll(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '');
  const keys = new Set(members.map((member) => member.split('=', 1)[0]));
  const isValid =
    members.length <= stateMembersMax &&
    keys.size === members.length &&
    members.every((member) => MEMBER.test(member));
  return isValid ? shortened(members).join(',') : '';
}

function shortened(members: readonly string[]): readonly string[] {
  const isShort = (those: readonly string[]): boolean => those.join(',').length <= stateLengthMax;
  if (isShort(members)) return members;
  let shortMembers = members.filter(({ length }) => length <= longMember);
  while (!isShort(shortMembers)) shortMembers = shortMembers.slice(0, -1);
  return shortMembers;
}
