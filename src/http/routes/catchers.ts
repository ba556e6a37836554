import { toTimestamp } from '../../base/timestamp.ts';
import {
  type Catcher,
  catcherLimits,
  catcherOfUrl,
  catcherPath,
  type CatcherRequest,
  forgetRequests,
  getCatcher,
  keepRequest,
  newCatcher,
  readRequests,
} from '../../endpoints/catchers.ts';
import { nothing } from '../answer.ts';
import type { InstanceRequest } from '../instance-request.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

const common = { tag: 'webhooks', isForSuperusers: true } as const;
const onOne = { ...common, path: '/api/webhooks/catchers/:id', parameters: ['CatcherId', 'Fields'] } as const;
const requestsPath = '/api/webhooks/catchers/:id/requests';

/** Catchers: URLs that keep what they are sent for an hour, to look at webhooks without a receiver. */
export const catcherRoutes = [
  route({
    ...common,
    method: 'POST',
    path: '/api/webhooks/catchers',
    id: 'createCatcher',
    scope: 'webhooks:write',
    summary: 'Create a catcher: a URL that stores requests, to inspect webhooks without a receiver',
    description:
      'Endpoints may have this URL, whatever targets the operator allows. With `?status=503` appended, the catcher acts as a failing receiver.',
    parameters: ['Fields'],
    answers: { 201: jsonAnswer('The catcher.', schemaReference('Catcher')) },
    handle: (context) => {
      const catcher = newCatcher(context.instance);
      const json = JSON.stringify({ ...catcherView(catcher, context.request), requests: [] });
      return context.answer(json, { status: 201 });
    },
  }),
  route({
    ...onOne,
    method: 'GET',
    id: 'getCatcher',
    scope: 'webhooks:read',
    summary: `Get a catcher with its last ${catcherLimits.requestsMax} requests, newest first`,
    answers: { 200: jsonAnswer('The catcher.', schemaReference('Catcher')) },
    handle: async (context) => {
      const { instance, params, request } = context;
      const catcher = getCatcher(instance, params.id);
      const requests = await readRequests(instance, catcher);
      return context.answer(JSON.stringify({ ...catcherView(catcher, request), requests }));
    },
  }),
  route({
    ...onOne,
    method: 'DELETE',
    id: 'emptyCatcher',
    scope: 'webhooks:write',
    summary: 'Delete the requests of a catcher',
    parameters: ['CatcherId'],
    answers: { 204: emptyAnswer('The requests are deleted. The catcher works until it expires.') },
    refusals: [413, 415, 507],
    handle: async ({ instance, params }) => {
      await forgetRequests(instance, getCatcher(instance, params.id));
      return nothing;
    },
  }),
  route({
    tag: 'webhooks',
    method: 'POST',
    path: requestsPath,
    id: 'catchRequest',
    scope: 'any',
    summary: 'Send a request to a catcher, as its endpoints do',
    parameters: ['CatcherId', 'CatcherStatus'],
    takesBytes: true,
    answers: { 200: emptyAnswer('The catcher has stored the request.') },
    refusals: [413, 507],
    handle: async ({ instance, params, request }) => {
      const catcher = getCatcher(instance, params.id);
      await keepRequest(instance, catcher, requestOf(request));
      const { status = 200 } = catcherOfUrl(instance.sealer, request.fullUrl) ?? {};
      return { status };
    },
  }),
];

function catcherView(catcher: Catcher, { fullUrl }: InstanceRequest): object {
  const { id, expires } = catcher;
  const prefix = fullUrl.slice(0, fullUrl.indexOf('/api/webhooks/catchers'));
  return { id, url: `${prefix}${catcherPath(catcher)}`, expires: toTimestamp(expires) };
}

function requestOf({ method, headers, bytes = Buffer.alloc(0) }: InstanceRequest): CatcherRequest {
  const texts = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')] as const);
  return { method, headers: Object.fromEntries(texts), body: bytes };
}

const text: Schema = { type: 'string' };

export const catcherSchemas: Readonly<Record<string, Schema>> = {
  Catcher: objectSchema({
    id: text,
    url: { type: 'string', description: 'The catcher stores every request to this URL.' },
    expires: { type: 'string', description: 'Until when it stores and returns requests.' },
    requests: { type: 'array', items: schemaReference('CatcherRequest') },
  }),
  CatcherRequest: objectSchema({
    id: text,
    received: text,
    method: text,
    headers: { type: 'object', additionalProperties: text },
    body: { type: 'string', description: 'Its first 64 KiB, as UTF-8.' },
    bodyBytes: { type: 'integer', minimum: 0, description: 'The length of the whole body.' },
  }),
};
