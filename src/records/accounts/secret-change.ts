import type { Transaction } from '../../storage/database.ts';

/** What is to be done to one secret of a record, whose id it is given. */
export type SecretChange = (tx: Transaction, record: string) => Promise<unknown>;
