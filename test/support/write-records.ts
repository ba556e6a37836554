import type { Instance } from '../../src/instances/instance.ts';
import { type CreateRecordRequest, prepareCreate } from '../../src/records/create-record.ts';
import { type DeleteRecordRequest, prepareDelete } from '../../src/records/delete-record.ts';
import type { StoredRecord } from '../../src/records/record.ts';
import { prepareUpdate, type UpdateRecordRequest } from '../../src/records/update-record.ts';
import type { RuleInput } from '../../src/access/rule-input.ts';

/** Writes a record as its route does (src/http/routes/records.ts), but without HTTP. */
export async function createRecord(
  instance: Instance,
  input: RuleInput,
  request: CreateRecordRequest,
): Promise<StoredRecord> {
  return instance.database.write(await prepareCreate(instance, input, request), { isAppending: true });
}

/** As {@link createRecord}. */
export async function updateRecord(
  instance: Instance,
  input: RuleInput,
  request: UpdateRecordRequest,
): Promise<StoredRecord> {
  return instance.database.write(await prepareUpdate(instance, input, request), { changes: request.id });
}

/** As {@link createRecord}. */
export async function deleteRecord(
  instance: Instance,
  input: RuleInput,
  request: DeleteRecordRequest,
): Promise<void> {
  return instance.database.write(await prepareDelete(instance, input, request));
}
