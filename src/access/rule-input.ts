import type { Share } from '../base/fair-line.ts';
import type { Trace } from '../base/trace-context.ts';
import type { Caller } from './caller.ts';

/** What a rule may know of the request: the members of `@request` (http-api 8.2). */
export interface RuleInput {
  readonly caller: Caller;
  readonly context: RuleContext;
  /** Values of relations in the caller's record, by field name, as far as they were looked up before. */
  readonly callerRelations?: ReadonlyMap<string, string>;
  readonly method: string;
  readonly query: ValueReader;
  /** By header name in snake case: `x_token`. */
  readonly headers: ValueReader;
  /** The members that were sent; for a write of a record, with the values that would be stored. */
  readonly body: Readonly<Record<string, unknown>>;
  /** For the audit log; no rule can name it. Absent where there is no request. */
  readonly origin?: () => RequestOrigin;
  /** The trace that the request belongs to, for the events that it causes; no rule can name it. */
  readonly trace?: () => Trace;
}

/** Where a request came from. */
export interface RequestOrigin {
  /** The client's IP address as text. */
  readonly address: string;
  /** The same client as it is counted: an IPv6 network has one owner. */
  readonly network: string;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal | undefined;
  /** As the answer and the log have it. */
  readonly requestId: string;
}

export type RuleContext =
  'default' | 'expand' | 'realtime' | 'protectedFile' | 'batch' | 'oauth2' | 'otp' | 'password';

/** Returns whose share of something scarce a request takes. */
export function shareOf(instanceId: string, { origin }: Pick<RuleInput, 'origin'>): Share {
  const { network = '', signal } = origin?.() ?? {};
  return { instance: instanceId, address: network, signal };
}

/** `get` returns the first value of a key that is repeated. */
export interface ValueReader {
  get(name: string): string | null;
}

/** Returns the input of a request of which only the caller is known. */
export function ruleInputOfCaller(caller: Caller): RuleInput {
  const nothing: ValueReader = { get: () => null };
  return { caller, context: 'default', method: '', query: nothing, headers: nothing, body: {} };
}
