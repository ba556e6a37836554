import {
  changeLife,
  changeManaged,
  findManaged,
  listManaged,
  type ManagedInstance,
} from '../../../operator/managed-instances.ts';
import { type CreatedInstance, createInstance } from '../../../operator/create-instance.ts';
import { quotaNames } from '../../../instances/quotas.ts';
import { operatorScopes } from '../../../operator/operator-keys.ts';
import { readQuotas } from '../../../operator/read-quotas.ts';
import { issueKey } from '../../../operator/issue-key.ts';
import { type Answer, notStored } from '../../answer.ts';
import type { OperatorContext } from '../../operator-context.ts';
import { operatorRoute } from '../../route.ts';
import { jsonAnswer } from '../../schemas/operation.ts';
import { listParameters } from '../../schemas/parameters.ts';
import { listSchema, objectSchema, type Schema, schemaReference } from '../../schemas/schema.ts';

const common = { tag: 'operator' } as const;
const onOne = {
  ...common,
  path: '/instances/:instance',
  parameters: ['ManagedInstance', 'Fields'],
  answers: { 200: jsonAnswer('The instance.', schemaReference('ManagedInstance')) },
} as const;
const step = { ...onOne, method: 'POST', scope: 'instances:write', refusals: [409, 413, 415, 507] } as const;

/** Instances, for the programs of the operator. */
export const operatorInstanceRoutes = [
  operatorRoute({
    ...common,
    method: 'GET',
    path: '/instances',
    id: 'listInstances',
    scope: 'instances:read',
    summary: 'List the instances, deleted ones included',
    description:
      'Filter and sort by `id`, `slug`, `host`, `state`, `stateSince`, `created` and `labels.NAME`.',
    parameters: listParameters,
    answers: { 200: jsonAnswer('The instances.', schemaReference('ManagedInstanceList')) },
    handle: async (context) =>
      context.answerList(await listManaged(context.operator, context.listQuery), (one) =>
        managedJson(context, one),
      ),
  }),
  operatorRoute({
    ...common,
    method: 'POST',
    path: '/instances',
    id: 'createInstance',
    scope: 'instances:write',
    summary: 'Create an instance with all that it begins with',
    description:
      'Nobody finds it before it is whole; where a member is refused, nothing of it is left. Only this answer has the secrets of the endpoints.',
    parameters: ['IdempotencyKey', 'Fields'],
    body: schemaReference('ManagedInstanceCreate'),
    answers: {
      201: jsonAnswer('The instance.', schemaReference('CreatedInstance'), {
        'Idempotent-Replayed': 'Replayed',
      }),
    },
    refusals: [409, 422, 507],
    handle: create,
  }),
  operatorRoute({
    ...onOne,
    method: 'GET',
    id: 'getInstance',
    scope: 'instances:read',
    summary: 'Get an instance',
    handle: async (context) => answer(context, await findManaged(context.operator, context.params.instance)),
  }),
  operatorRoute({
    ...onOne,
    method: 'PATCH',
    id: 'changeInstance',
    scope: 'instances:write',
    summary: 'Change slug, host, labels or quotas of an instance',
    body: schemaReference('ManagedInstanceChange'),
    refusals: [409, 507],
    handle: async (context) => {
      const { operator, params, body, actor } = context;
      return answer(context, await changeManaged(operator, { name: params.instance, body, actor }));
    },
  }),
  operatorRoute({
    ...onOne,
    method: 'GET',
    path: '/instances/:instance/quotas',
    id: 'getInstanceQuotas',
    scope: 'instances:read',
    summary: 'Get the quotas of an instance and what is used of each',
    answers: { 200: jsonAnswer('The quotas.', schemaReference('InstanceQuotas')) },
    handle: async (context) => {
      const { operator, params, calls } = context;
      const items = await readQuotas(operator, params.instance, calls);
      return context.answer(JSON.stringify({ items }));
    },
  }),
  operatorRoute({
    ...onOne,
    method: 'DELETE',
    id: 'deleteInstance',
    scope: 'instances:write',
    summary: 'Delete an instance; it can be restored for some days',
    refusals: [409, 413, 415, 507],
    handle: (context) => takeStep(context, 'delete'),
  }),
  operatorRoute({
    ...step,
    path: '/instances/:instance/suspend',
    id: 'suspendInstance',
    summary: 'Refuse all requests to an instance, and make its webhooks wait',
    handle: (context) => takeStep(context, 'suspend'),
  }),
  operatorRoute({
    ...step,
    path: '/instances/:instance/resume',
    id: 'resumeInstance',
    summary: 'End the suspension of an instance',
    handle: (context) => takeStep(context, 'resume'),
  }),
  operatorRoute({
    ...step,
    path: '/instances/:instance/restore',
    id: 'restoreInstance',
    summary: 'Restore a deleted instance as it was',
    handle: (context) => takeStep(context, 'restore'),
  }),
  operatorRoute({
    ...common,
    method: 'GET',
    path: '/keys/current',
    id: 'getOwnOperatorKey',
    scope: 'any',
    summary: 'Get the operator key of this request, with its scopes and expiry',
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('The key.', schemaReference('OperatorKey')) },
    handle: (context) => {
      const { id, name, scopes, expires, created, lastUsed } = context.caller;
      return context.answer(JSON.stringify({ id, name, scopes, expires, created, lastUsed }));
    },
  }),
  operatorRoute({
    ...onOne,
    method: 'POST',
    path: '/instances/:instance/keys',
    id: 'issueInstanceKey',
    scope: 'keys:write',
    summary:
      'Create an API key of an instance, or with `kind` `signin` a link that signs in to its dashboard once',
    description: 'Only this answer returns the key or the link, which is valid for five minutes.',
    body: { anyOf: [schemaReference('ApiKeyCreate'), schemaReference('InstanceSignInCreate')] },
    answers: {
      201: jsonAnswer('The key, or the link.', {
        anyOf: [schemaReference('ApiKeyWithKey'), schemaReference('InstanceSignIn')],
      }),
    },
    refusals: [409, 507],
    handle: async (context) => {
      const { operator, params, body, actor, calls } = context;
      const issue = { name: params.instance, body, actor, calls };
      const { kind, managed, members: key } = await issueKey(operator, issue);
      const url = `${context.baseUrl(managed)}/_/link#${String(key['token'])}`;
      const json = JSON.stringify(kind === 'key' ? key : { ...key, url });
      return context.answer(json, { status: 201, headers: notStored });
    },
  }),
];

async function create(context: OperatorContext<unknown>): Promise<Answer> {
  const { operator, body, actor, calls, idempotent } = context;
  const present = (instance: CreatedInstance): string => managedJson(context, instance);
  const { json, isReplayed } = await createInstance(operator, { body, actor, calls, idempotent, present });
  const headers = { ...notStored, ...(isReplayed && { 'idempotent-replayed': 'true' }) };
  return context.answer(json, { status: 201, headers });
}

type OnInstance = OperatorContext<{ readonly instance: string }>;

async function takeStep(context: OnInstance, name: Parameters<typeof changeLife>[1]): Promise<Answer> {
  const { operator, params, actor } = context;
  return answer(context, await changeLife(operator, name, { name: params.instance, actor }));
}

function answer(context: OperatorContext<unknown>, instance: ManagedInstance): Answer | Promise<Answer> {
  return context.answer(managedJson(context, instance));
}

/** An instance as the API shows it. */
export function managedJson(context: OperatorContext<unknown>, instance: ManagedInstance): string {
  return JSON.stringify({ ...instance, url: context.baseUrl(instance) });
}

const text: Schema = { type: 'string' };
const labels: Schema = {
  type: 'object',
  additionalProperties: { type: 'string', maxLength: 255 },
  description: 'At most 64 texts by name, for programs of the operator.',
};
const settable: Readonly<Record<string, Schema>> = {
  slug: {
    type: 'string',
    description: 'Its name in `/i/{slug}/…`: 2 to 40 characters of `a-z`, `0-9` and `-`.',
  },
  host: { type: ['string', 'null'], description: 'The host that it answers on; null for `/i/{slug}` alone.' },
  labels,
  quotas: {
    type: 'object',
    additionalProperties: { type: 'integer', minimum: 0 },
    description: 'What it may use at most, by the names of quotas; what is left out is not limited.',
  },
};

const anything: Schema = { type: 'object', additionalProperties: true };

const members: Readonly<Record<string, Schema>> = {
  id: text,
  ...settable,
  state: { type: 'string', enum: ['active', 'suspended', 'replacing', 'deleted'] },
  stateSince: text,
  created: text,
  restorableUntil: {
    type: 'string',
    description: 'Until when it can be restored; empty unless it is deleted.',
  },
  url: { type: 'string', description: 'The URL before the paths of its API.' },
};

export const operatorInstanceSchemas: Readonly<Record<string, Schema>> = {
  ManagedInstance: objectSchema(members),
  InstanceSignInCreate: objectSchema(
    {
      kind: { type: 'string', const: 'signin' },
      email: { type: 'string', description: 'Of a superuser; the first one by default.' },
    },
    ['email'],
  ),
  InstanceSignIn: objectSchema({
    url: { type: 'string', description: 'Signs in to the dashboard, once.' },
    token: text,
    expires: text,
    email: text,
  }),
  OperatorKey: objectSchema({
    id: text,
    name: text,
    scopes: { type: 'array', items: { type: 'string', enum: operatorScopes } },
    expires: { ...text, description: 'When it is refused from; empty for never.' },
    created: text,
    lastUsed: { ...text, description: 'To the minute; empty if never.' },
  }),
  InstanceQuotas: objectSchema({
    items: {
      type: 'array',
      items: objectSchema({
        name: { type: 'string', enum: quotaNames },
        used: {
          type: ['integer', 'null'],
          minimum: 0,
          description: 'Null for what is not measured, and while the instance is suspended.',
        },
        max: { type: 'integer', minimum: 0 },
      }),
    },
  }),
  ManagedInstanceList: listSchema(schemaReference('ManagedInstance')),
  ManagedInstanceChange: objectSchema(settable, ['slug', 'host', 'labels', 'quotas']),
  CreatedInstance: objectSchema({
    ...members,
    endpoints: {
      type: 'array',
      items: objectSchema({
        id: text,
        url: text,
        secret: { type: 'string', description: 'What its webhooks are signed with.' },
      }),
    },
  }),
  ManagedInstanceCreate: objectSchema(
    {
      ...settable,
      template: { type: 'string', description: 'Slug or id of an instance whose collections it gets.' },
      collections: { type: 'array', items: anything, description: 'Definitions, as an import takes them.' },
      settings: { ...anything, description: 'Settings, as `PATCH /api/settings` takes them.' },
      superuser: objectSchema({ email: text, password: text }),
      endpoints: { type: 'array', items: schemaReference('EndpointCreate') },
    },
    ['host', 'labels', 'quotas', 'template', 'collections', 'settings', 'superuser', 'endpoints'],
  ),
};
