import type { Instance } from '../instances/instance.ts';
import type { RequestFacts } from '../rules/request-facts.ts';
import type { Transaction } from '../storage/database.ts';

/**
 * A change of records in two parts. `prepare…` does what needs no transaction: it finds the collection, refuses callers under a
 * null rule and hashes passwords. The RecordWrite that it returns does the rest in a transaction, alone or after others.
 *
 *   prepareCreate ──► RecordWrite ──► database.write(write)
 *   prepareBatch  ──► RecordWrite of several, one after the other in one commit
 */
export type RecordWrite<Result> = (tx: Transaction) => Promise<Result>;

/** The transaction in which a change happens, and what is known about the request for it. */
export interface WriteScope {
  readonly instance: Instance;
  readonly facts: RequestFacts;
  readonly tx: Transaction;
}
