import { isDeepStrictEqual } from 'node:util';
import { keyOf, type Chains } from './chains.ts';
import { collectionNames, uniqueOf } from './collections.ts';
import { toValues, type Values } from './exchange.ts';
import { referredBy } from './referred-by.ts';
import type { Evidence, Report } from './evidence.ts';

/** When all is quiet, records are what their events say, unique values are unique and relations lead to what is there. */
export function checkRecords({ records }: Pick<Evidence, 'records'>, chains: Chains, report: Report): void {
  const stored = new Map<string, Values>();
  for (const [collection, list] of records)
    for (const record of list)
      stored.set(keyOf({ collection, record: String(record['id']) }), toValues(record));
  for (const [key, chain] of chains) {
    const last = chain.at(-1)?.values;
    const record = stored.get(key);
    if (!isDeepStrictEqual(record, last))
      report(`${key} is ${JSON.stringify(record)}, and was told to be ${JSON.stringify(last)}`);
  }
  for (const key of stored.keys()) if (!chains.has(key)) report(`${key} is there, and nobody made it`);
  for (const collection of collectionNames) {
    const field = uniqueOf[collection];
    const values = field === undefined ? [] : (records.get(collection) ?? []).map((record) => record[field]);
    if (new Set(values).size < values.length)
      report(`${collection}.${field} is not unique: ${values.join()}`);
  }
  for (const [key, values] of stored)
    for (const name of referredBy(values))
      if (!stored.has(name)) report(`${key} refers to ${name}, which is gone`);
}
