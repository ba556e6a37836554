import { isJsonObject } from '../base/json.ts';
import type { QuotaName } from '../instances/quotas.ts';
import type { InstanceCalls } from './instance-calls.ts';
import { entryOf, findServed } from './managed-instances.ts';
import type { OperatorControl } from './operator-control.ts';

export interface QuotaReading {
  readonly name: string;
  /** Null for what is not measured, and while the instance is suspended. */
  readonly used: number | null;
  readonly max: number;
}

/** What its health shows of an instance. Its realtime connections are those of each node. */
const measured: readonly string[] = [
  'records',
  'collections',
  'dataBytes',
  'fileBytes',
  'endpoints',
] satisfies readonly QuotaName[];

/** Reads the quotas of an instance and what it uses of each. Throws not_found. */
export async function readQuotas(
  operator: OperatorControl,
  name: string,
  calls: InstanceCalls,
): Promise<readonly QuotaReading[]> {
  const managed = await findServed(operator, name);
  const quotas = Object.entries(managed.quotas);
  const isRead = managed.state === 'active' && quotas.some(([quota]) => measured.includes(quota));
  const health = isRead ? await calls.call(await entryOf(operator, managed), { operation: 'health' }) : {};
  const data = memberOf(health, 'data');
  return quotas.map(([quota, max]) => {
    const used = memberOf(memberOf(memberOf(data, 'quotas'), quota), 'used');
    const isMeasured = measured.includes(quota) && typeof used === 'number';
    return { name: quota, used: isMeasured ? used : null, max };
  });
}

function memberOf(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined;
}
