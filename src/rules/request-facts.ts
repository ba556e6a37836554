import type { Caller } from './caller.ts';

/** What a rule may know of the request: the members of `@request` (http-api 8.2). */
export interface RequestFacts {
  readonly caller: Caller;
  readonly context: RuleContext;
  /** What relations of the caller's record hold, by name, as far as they were looked up before. */
  readonly callerRelations?: ReadonlyMap<string, string>;
  readonly method: string;
  readonly query: FactReader;
  /** By their names in snake case: `x_token`. */
  readonly headers: FactReader;
  /** The members that were sent; of a record, with the values that would be stored. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Nothing that a rule may know: for the audit log. Absent where there is no request. */
  readonly origin?: () => RequestOrigin;
  /** Since when it is being served, by `systemClock.monotonic`: it may be told of any state that was there after that. */
  readonly asOfMs?: number;
}

/** Where a request came from. */
export interface RequestOrigin {
  /** The client's, as text. */
  readonly address: string;
  /** As its answer and the log have it. */
  readonly requestId: string;
}

export type RuleContext =
  'default' | 'expand' | 'realtime' | 'protectedFile' | 'batch' | 'oauth2' | 'otp' | 'password';

/** Of a key given more than once it tells the first value. */
export interface FactReader {
  get(name: string): string | null;
}

/** A request that says nothing but who makes it. */
export function factsOfCaller(caller: Caller): RequestFacts {
  const nothing: FactReader = { get: () => null };
  return { caller, context: 'default', method: '', query: nothing, headers: nothing, body: {} };
}
