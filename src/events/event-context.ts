import { isJsonObject, type JsonObject } from '../base/json.ts';

/** The context of a change that the log keeps beside its payload: its actor, and the changed fields. */
export interface EventContext {
  /** `superuser`, `key:<id>`, `<collection>/<record id>`, `guest`, or `service`. */
  readonly actor: string;
  /** How many webhooks have led to this one, itself included: 1 where no webhook has caused the change. */
  readonly hops: number;
  /** Names of the visible fields that an update has changed, dates that the service sets left out; absent otherwise. */
  readonly changed?: readonly string[];
  /** The values before an update of the fields in `changed`; absent where no endpoint requests them. */
  readonly previous?: JsonObject;
  /** The id of the backfill that sends the record; absent for a change. */
  readonly backfill?: string;
}

/** Reads the context from the log. Undefined where there is none: for test events, and events older than this column. */
export function readContext(stored: unknown): EventContext | undefined {
  if (typeof stored !== 'string') return undefined;
  const context: unknown = JSON.parse(stored);
  if (!isJsonObject(context)) return undefined;
  const { actor, hops, changed, previous, backfill } = context;
  return {
    actor: String(actor),
    hops: Number(hops),
    ...(Array.isArray(changed) && { changed: changed.map(String) }),
    ...(isJsonObject(previous) && { previous }),
    ...(typeof backfill === 'string' && { backfill }),
  };
}
