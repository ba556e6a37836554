import { AppError } from '../base/errors.ts';
import { toTimestamp } from '../base/timestamp.ts';
import { type Collection, superusersName } from '../collections/collection.ts';
import type { Instance } from '../instances/instance.ts';
import { decodeRecord } from '../records/decode-record.ts';
import { endSessions, eraseAccount } from '../records/sessions.ts';
import { findRecordToChange } from '../records/find-record.ts';
import { requireAnotherSuperuser } from '../records/check-account.ts';
import { recordTable } from '../records/record-table.ts';
import { StoredRecord, valueOf } from '../records/record.ts';
import { refusedAs, refuseProblems } from '../records/record-write.ts';
import { deleteSecrets, writeSecret } from '../secrets/secrets.ts';
import { sql, withValues } from '../sql/sql.ts';
import type { Transaction } from '../storage/database.ts';

const passwordLengthMin = 8;

/** Creates a superuser, or sets the password of an existing one, which ends all of their sessions. */
export async function upsertSuperuser(
  instance: Instance,
  email: string,
  password: string,
): Promise<'created' | 'updated'> {
  if (Array.from(password).length < passwordLengthMin) {
    throw new AppError('bad_request', `The password must have at least ${passwordLengthMin} characters.`);
  }
  const hash = await instance.passwords.hash(password, { instance: instance.id, address: '' });
  const saving = instance.database.write(async (tx) => {
    const collection = instance.collections.get(superusersName);
    const existing = await findId(tx, collection, email);
    const id = existing ?? (await insertSuperuser(tx, { instance, collection, email, password }));
    // A session that begins at the same time waits for this lock, and then finds the new key.
    await findRecordToChange(tx, collection, id);
    await writeSecret(tx, { collection: collection.id, record: id, name: 'password' }, hash);
    for (const change of endSessions(instance, collection)) await change(tx, id);
    const [action, details] =
      existing === undefined
        ? (['superuser.create', {}] as const)
        : (['superuser.update', { changed: ['secrets'] }] as const);
    const entry = { action, collection: collection.id, target: id, details };
    await instance.audit.append(tx, 'operator', entry);
    return existing === undefined ? 'created' : 'updated';
  });
  return refusedAs('The superuser cannot be saved.', saving);
}

/** Returns the e-mail addresses in the order in which the superusers were made. */
export async function listSuperusers(instance: Instance): Promise<readonly string[]> {
  const rows = await instance.database.all(
    sql`SELECT email FROM ${instance.database.names.collectionTable(superusersName)} ORDER BY "$position"`,
  );
  return rows.map((row) => String(row['email']));
}

/** Deletes a superuser. Throws not_found; bad_request for the last one, without which nobody could get in. */
export function deleteSuperuser(instance: Instance, email: string): Promise<void> {
  return instance.database.write(async (tx) => {
    const collection = instance.collections.get(superusersName);
    const id = await findId(tx, collection, email);
    if (id === undefined) throw new AppError('not_found', `There is no superuser ${email}.`);
    await requireAnotherSuperuser(tx);
    await tx.run(withValues(recordTable(collection).statements(tx.names).deleteById, [id]));
    await deleteSecrets(tx, { collection: collection.id, record: id });
    await eraseAccount({ instance, tx }, { collection, id });
    const entry = { action: 'superuser.delete', collection: collection.id, target: id } as const;
    await instance.audit.append(tx, 'operator', entry);
  });
}

async function findId(tx: Transaction, collection: Collection, email: string): Promise<string | undefined> {
  const table = tx.names.collectionTable(collection.name);
  const row = await tx.get(sql`SELECT id FROM ${table} WHERE email = ${email} AND email <> ''`);
  return row === undefined ? undefined : String(row['id']);
}

async function insertSuperuser(
  tx: Transaction,
  options: {
    readonly instance: Instance;
    readonly collection: Collection;
    readonly email: string;
    readonly password: string;
  },
): Promise<string> {
  const { instance, collection, email, password } = options;
  const now = toTimestamp(instance.clock.now());
  const { values, problems } = decodeRecord(
    collection,
    { email, password, verified: true },
    { isSuperuser: true, now },
  );
  refuseProblems(problems);
  await tx.run(recordTable(collection).statements(tx.names).insert(values));
  return String(valueOf(new StoredRecord(collection, 1, values), 'id'));
}
