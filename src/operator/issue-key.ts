import { AppError } from '../base/errors.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { suspendedText } from '../instances/instance-rows.ts';
import type { Actor } from '../logs/audit-entry.ts';
import type { InstanceCalls } from './instance-calls.ts';
import { entryOf, findServed } from './managed-instances.ts';
import type { OperatorControl } from './operator-control.ts';

export interface KeyIssue {
  /** Slug or id of the instance. */
  readonly name: string;
  readonly body: JsonObject;
  readonly actor: Actor;
  readonly calls: InstanceCalls;
}

/**
 * Creates an API key of an instance by its ordinary route, and audits here for whom; the instance's own audit log names the operator. The
 * entry says that a key was issued, and is written after it was. Throws bad_request, forbidden for a suspended instance, not_found.
 */
export async function issueKey(
  operator: OperatorControl,
  { name, body, actor, calls }: KeyIssue,
): Promise<unknown> {
  const managed = await findServed(operator, name);
  if (managed.state === 'suspended') throw new AppError('forbidden', suspendedText);
  const entry = await entryOf(operator, managed);
  const key = await calls.call(entry, { operation: 'createApiKey', body });
  const details = isJsonObject(key) ? { key: key['id'], name: key['name'], scopes: key['scopes'] } : {};
  const audited = { action: 'key.create', target: managed.id, details } as const;
  await operator.database.write((tx) => operator.audit.append(tx, actor, audited));
  return key;
}
