import type { AppError } from '../base/errors.ts';
import type { CreateRecordRequest } from './create-record.ts';
import type { DeleteRecordRequest } from './delete-record.ts';
import type { UpdateRecordRequest } from './update-record.ts';
import type { UpsertRecordRequest } from './upsert-record.ts';

/** One of the changes that a batch makes. */
export type BatchItem =
  | ({ readonly kind: 'create' } & CreateRecordRequest)
  | ({ readonly kind: 'update' } & UpdateRecordRequest)
  | ({ readonly kind: 'upsert' } & UpsertRecordRequest)
  | ({ readonly kind: 'delete' } & DeleteRecordRequest)
  /** An entry that is no change of a record. It fails when its turn comes, as any other item that cannot be done. */
  | { readonly kind: 'refused'; readonly error: AppError };
