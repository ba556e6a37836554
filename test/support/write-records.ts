import type { RuleInput } from '../../src/access/rule-input.ts';
import type { Instance } from '../../src/instances/instance.ts';
import {
  createRecord as createInside,
  type CreateRecordRequest,
  prepareCreate,
} from '../../src/records/create-record.ts';
import {
  deleteRecord as deleteInside,
  type DeleteRecordRequest,
  prepareDelete,
} from '../../src/records/delete-record.ts';
import type { StoredRecord } from '../../src/records/record.ts';
import {
  prepareUpdate,
  updateRecord as updateInside,
  type UpdateRecordRequest,
} from '../../src/records/update-record.ts';

/** Writes a record as its route does (src/http/routes/records.ts), but without HTTP. */
export async function createRecord(
  instance: Instance,
  input: RuleInput,
  request: CreateRecordRequest,
): Promise<StoredRecord> {
  const prepared = await prepareCreate({ instance, input }, request);
  return instance.database.write((tx) => createInside({ instance, input, tx }, prepared), {
    isAppending: true,
  });
}

/** As {@link createRecord}. */
export async function updateRecord(
  instance: Instance,
  input: RuleInput,
  request: UpdateRecordRequest,
): Promise<StoredRecord> {
  const prepared = await prepareUpdate({ instance, input }, request);
  return instance.database.write((tx) => updateInside({ instance, input, tx }, prepared), {
    changes: request.id,
  });
}

/** As {@link createRecord}. */
export async function deleteRecord(
  instance: Instance,
  input: RuleInput,
  request: DeleteRecordRequest,
): Promise<void> {
  const prepared = await prepareDelete({ instance, input }, request);
  return instance.database.write((tx) => deleteInside({ instance, input, tx }, prepared));
}
