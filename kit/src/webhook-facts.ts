/** What the headers of a webhook say beside its body. Of them only `webhook-id` is signed: a receiver believes the others as far as it believes the connection. */
import { findHeader, getHeader, type HeaderSource, toNumber } from './headers.ts';

export interface WebhookFacts {
  /** Id of the event, the same on every attempt and replay: what was handled is known by it. */
  readonly id: string;
  /** Id of this event's delivery to this endpoint, as the delivery log shows it. */
  readonly delivery: string | undefined;
  /** 1 for the first attempt, then 2, 3, … */
  readonly attempt: number | undefined;
  /** The record's revision: 1, 2, 3, … without gaps; 0 where the webhook is about no record. */
  readonly sequence: number | undefined;
  /**
   * Who has made the change: `superuser`, `key:<id>`, `<collection>/<record id>`, `guest` or `service`. Undefined where nobody has, and
   * where the endpoint belongs to an account, which is not told.
   */
  readonly actor: string | undefined;
  /** How many webhooks led to this one, itself included; see `hopsHeaders`. */
  readonly hops: number | undefined;
  /** Names of the visible fields that an update has changed; empty for everything else. */
  readonly changed: readonly string[];
  /** Whether more fields have changed than `changed` could name. */
  readonly isChangedCut: boolean;
  /** Id of the backfill that tells of a record which was there before; undefined for a change. */
  readonly backfill: string | undefined;
  /**
   * For an endpoint with transitions: the record came to match its conditions (`enter`), or matches them no more (`leave`). Undefined for a
   * change of the record.
   */
  readonly transition: 'enter' | 'leave' | undefined;
  /** Whether somebody tests the endpoint with a record: nothing has changed. */
  readonly isTest: boolean;
}

/** Reads the headers. Throws a MissingHeaderError when there is no `webhook-id`. */
export function readFacts(headers: HeaderSource): WebhookFacts {
  const names = findHeader(headers, 'x-service-changed')?.split(',') ?? [];
  const isChangedCut = names.at(-1) === '*';
  return {
    id: getHeader(headers, 'webhook-id'),
    delivery: findHeader(headers, 'x-service-delivery'),
    attempt: toNumber(findHeader(headers, 'x-service-attempt')),
    sequence: toNumber(findHeader(headers, 'x-service-sequence')),
    actor: findHeader(headers, 'x-service-actor'),
    hops: toNumber(findHeader(headers, 'x-service-hops')),
    changed: isChangedCut ? names.slice(0, -1) : names,
    isChangedCut,
    backfill: findHeader(headers, 'x-service-backfill'),
    transition: transitionOf(findHeader(headers, 'x-service-transition')),
    isTest: findHeader(headers, 'x-service-test') === 'true',
  };
}

export function transitionOf(text: string | undefined): WebhookFacts['transition'] {
  return text === 'enter' || text === 'leave' ? text : undefined;
}

/**
 * Returns the header that each request to Chancery passes on which a webhook causes. Chancery then counts the webhooks of such a chain,
 * and refuses the write that would go on for ever. Empty for a webhook that no change has caused.
 */
export function hopsHeaders({ hops }: Pick<WebhookFacts, 'hops'>): Readonly<Record<string, string>> {
  return hops === undefined ? {} : { 'X-Service-Hops': String(hops) };
}
