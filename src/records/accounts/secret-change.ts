import type { Transaction } from '../../storage/database.ts';

/** Changes one secret of the record with this id. */
export type SecretChange = (tx: Transaction, record: string) => Promise<unknown>;
