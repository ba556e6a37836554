import type { Operation, Paths, Schema } from './document.ts';
import { objectSchema } from './object-schema.ts';
import { emptyAnswer, jsonAnswer, operation, type OperationParts } from './operation.ts';
import { listParameters } from './parameters.ts';
import { schemaReference } from './reference.ts';

const endpoint = schemaReference('Endpoint');
const onOne = ['EndpointId', 'Fields'] as const;

/** Endpoints, which say where webhooks go, for superusers. */
export const endpointPaths: Paths = {
  '/api/webhooks/endpoints': {
    get: ours({
      id: 'listEndpoints',
      summary: 'A page of endpoints',
      parameters: listParameters,
      answers: { 200: jsonAnswer('The endpoints.', schemaReference('EndpointList')) },
    }),
    post: ours({
      id: 'createEndpoint',
      summary: 'Register an endpoint',
      parameters: ['Fields'],
      body: schemaReference('EndpointCreate'),
      answers: { 201: jsonAnswer('The endpoint, with its secret.', schemaReference('EndpointWithSecret')) },
      refusals: [409, 507],
    }),
  },
  '/api/webhooks/endpoints/{id}': {
    get: ours({
      id: 'getEndpoint',
      summary: 'An endpoint',
      parameters: onOne,
      answers: { 200: jsonAnswer('The endpoint.', endpoint) },
    }),
    patch: ours({
      id: 'updateEndpoint',
      summary: 'Change members of an endpoint',
      parameters: onOne,
      body: schemaReference('EndpointUpdate'),
      isBodyOptional: true,
      answers: { 200: jsonAnswer('The endpoint.', endpoint) },
      refusals: [409, 507],
    }),
    delete: ours({
      id: 'deleteEndpoint',
      summary: 'Delete an endpoint; its pending deliveries are cancelled',
      parameters: ['EndpointId'],
      answers: { 204: emptyAnswer('The endpoint is deleted.') },
      refusals: [409, 413, 415, 507],
    }),
  },
  '/api/webhooks/endpoints/{id}/secret': {
    get: ours({
      id: 'getEndpointSecret',
      summary: 'What signs the requests to an endpoint',
      parameters: onOne,
      answers: { 200: jsonAnswer('The secret.', schemaReference('EndpointSecret')) },
    }),
  },
  '/api/webhooks/endpoints/{id}/pause': {
    post: action('pauseEndpoint', 'Send nothing until it is resumed; deliveries are collected'),
  },
  '/api/webhooks/endpoints/{id}/resume': {
    post: action('resumeEndpoint', 'Send again, what has waited first', {
      body: objectSchema({ backlog: { const: 'drain' } }, ['backlog']),
    }),
  },
  '/api/webhooks/endpoints/{id}/test': {
    post: action('testEndpoint', 'Send the test event `ping` now, once', {
      body: objectSchema({ event: { const: 'ping' }, recordId: { const: '' } }, ['event', 'recordId']),
      answers: { 200: jsonAnswer('The delivery with its attempt.', schemaReference('Delivery')) },
    }),
  },
};

function ours(parts: Omit<OperationParts, 'tag' | 'isForSuperusers'>): Operation {
  return operation({ ...parts, tag: 'webhooks', isForSuperusers: true });
}

function action(
  id: string,
  summary: string,
  { body, answers }: { readonly body?: Schema; readonly answers?: OperationParts['answers'] } = {},
): Operation {
  return ours({
    id,
    summary,
    parameters: onOne,
    ...(body === undefined ? {} : { body, isBodyOptional: true }),
    answers: answers ?? { 200: jsonAnswer('The endpoint.', endpoint) },
    refusals: [409, 413, 415, 507],
  });
}
