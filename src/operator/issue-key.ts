import { AppError } from '../base/errors.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { invalidValue } from '../fields/field-error.ts';
import { suspendedText } from '../instances/instance-rows.ts';
import type { Actor } from '../logs/audit-entry.ts';
import type { InstanceCalls } from './instance-calls.ts';
import { entryOf, findServed, type ManagedInstance } from './managed-instances.ts';
import type { OperatorControl } from './operator-control.ts';

export interface KeyIssue {
  /** Slug or id of the instance. */
  readonly name: string;
  readonly body: JsonObject;
  readonly actor: Actor;
  readonly calls: InstanceCalls;
}

/**
 * Creates an API key of an instance by its ordinary route, or with `kind` `signin` a token that signs one of its superusers in once. It audits here for
 * which key of the operator that was; the instance's own audit log names the operator. The entry is written once there is the key. Throws
 * bad_request, forbidden for a suspended instance, not_found.
 */
export async function issueKey(
  operator: OperatorControl,
  { name, body, actor, calls }: KeyIssue,
): Promise<KeyIssued> {
  const { kind: kindMember, ...rest } = body;
  const kind = kindMember === undefined ? 'key' : 'signin';
  if (kindMember !== undefined && kindMember !== 'signin')
    throw new AppError('bad_request', 'Failed to create key.', {
      details: { kind: invalidValue('Must be signin, or left out for an API key.') },
    });
  const managed = await findServed(operator, name);
  if (managed.state === 'suspended') throw new AppError('forbidden', suspendedText);
  const entry = await entryOf(operator, managed);
  const operation = kind === 'key' ? 'createApiKey' : 'issueSignInLink';
  const answer = await calls.call(entry, { operation, body: rest });
  const members = isJsonObject(answer) ? answer : {};
  const { id, name: keyName, scopes, email } = members;
  const audited =
    kind === 'key'
      ? ({ action: 'key.create', details: { key: id, name: keyName, scopes } } as const)
      : ({ action: 'impersonate', details: { email } } as const);
  await operator.database.write((tx) => operator.audit.append(tx, actor, { ...audited, target: managed.id }));
  return { kind, managed, members };
}

export interface KeyIssued {
  readonly kind: 'key' | 'signin';
  readonly managed: ManagedInstance;
  /** Those of the answer of the instance. */
  readonly members: JsonObject;
}
