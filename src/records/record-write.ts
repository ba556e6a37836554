import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import type { Transaction } from '../storage/database.ts';

/**
 * A change of records in two parts: `prepare…` finds the collection and asks its null rule outside of any transaction, which
 * gives a RecordWrite; run in a transaction, alone or after others, it does all the rest.
 *
 *   prepareCreate ──► RecordWrite ──► database.write(write)                         createRecord
 *   prepareBatch  ──► RecordWrite of several, one after the other in one commit
 */
export type RecordWrite<Result> = (tx: Transaction) => Promise<Result>;

/** Where a change happens, and what is known of who makes it. */
export interface WriteScope {
  readonly instance: Instance;
  readonly facts: RequestFacts;
  readonly tx: Transaction;
}
