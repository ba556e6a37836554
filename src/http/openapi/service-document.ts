import { accountPaths, accountSchemas } from '../routes/accounts.ts';
import { auditPaths, auditSchemas } from '../routes/audit.ts';
import { authPaths, authSchemas } from '../routes/auth.ts';
import { batchPaths, batchSchemas } from '../routes/batch.ts';
import { collectionSchemas } from '../routes/collection-schemas.ts';
import { collectionPaths } from '../routes/collections.ts';
import { deliveryPaths, deliverySchemas } from '../routes/deliveries.ts';
import { endpointPaths, endpointSchemas } from '../routes/endpoints.ts';
import { healthPaths, healthSchemas } from '../routes/health.ts';
import { keyPaths, keySchemas } from '../routes/keys.ts';
import { logPaths, logSchemas } from '../routes/logs.ts';
import { mailPaths, mailSchemas } from '../routes/mail.ts';
import { recordPaths, recordSchemas } from '../routes/records.ts';
import { rulePaths, ruleSchemas } from '../routes/rules.ts';
import { settingsPaths, settingsSchemas } from '../routes/settings.ts';
import { setupPaths } from '../routes/setup.ts';
import {
  emptyAnswer,
  errorSchemas,
  headers,
  jsonAnswer,
  operation,
  parameters,
  refusalResponses,
} from './operation.ts';
import type { OpenApiDocument, Paths } from './schema.ts';

const description = `A record service: collections of records with rules, and signed webhooks of every change.

- Every \`GET\` answers \`HEAD\` as well, and \`OPTIONS\` is answered everywhere. A path that is here with another method gets 405 with \`Allow\`, any other path 404.
- Every refusal has the same body: \`{"data":{},"message":"…","status":400}\`. Requests that are not valid HTTP get one too (400, 408, 413, 431).
- A body may also be a form without files: \`multipart/form-data\` or \`application/x-www-form-urlencoded\`. The members of JSON objects in its fields \`@jsonPayload\` keep their types.
- Dates are texts in UTC: \`2026-11-20 09:35:20.114Z\`; an empty text is none.
- Answers and refusals may get further members. What is here is removed or changes its meaning only in a major version.`;

/** The description of the service, whatever its instances hold. */
export function serviceDocument(version: string): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: { title: 'Chancery', version, description },
    servers: [
      { url: '/', description: 'The instance of this host, or the default one.' },
      {
        url: '/i/{instance}',
        description: 'An instance by its name, on hosts that belong to none.',
        variables: { instance: { default: 'default' } },
      },
    ],
    tags: [
      { name: 'records', description: 'Records of collections, as their rules permit.' },
      { name: 'collections', description: 'What records consist of, and who may do what. For superusers.' },
      { name: 'auth', description: 'Tokens for passwords.' },
      { name: 'webhooks', description: 'Where changes are told, and what became of it. For superusers.' },
      { name: 'keys', description: 'What programs have in place of a sign-in. For superusers.' },
      { name: 'audit', description: 'Who did what. For superusers.' },
      { name: 'settings', description: 'What superusers decide about their instance.' },
      { name: 'logs', description: 'What was asked of an instance. For superusers.' },
      { name: 'health', description: 'For people and for probes.' },
      { name: 'description', description: 'This document.' },
    ],
    paths: {
      ...recordPaths,
      ...batchPaths,
      ...collectionPaths,
      ...authPaths,
      ...setupPaths,
      ...accountPaths,
      ...endpointPaths,
      ...deliveryPaths,
      ...keyPaths,
      ...auditPaths,
      ...settingsPaths,
      ...logPaths,
      ...rulePaths,
      ...mailPaths,
      ...healthPaths,
      ...descriptionPaths,
    },
    components: {
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description:
            'The token of a sign-in, or an API key (`ck_…`), with or without `Bearer` before it. A token that is not valid counts as none, ' +
            'a key that is not valid is refused with a 401.',
        },
      },
      parameters,
      headers,
      responses: refusalResponses,
      schemas,
    },
  };
}

const schemas = {
  ...errorSchemas,
  ...recordSchemas,
  ...batchSchemas,
  ...collectionSchemas,
  ...authSchemas,
  ...accountSchemas,
  ...endpointSchemas,
  ...deliverySchemas,
  ...keySchemas,
  ...auditSchemas,
  ...settingsSchemas,
  ...logSchemas,
  ...ruleSchemas,
  ...mailSchemas,
  ...healthSchemas,
};

const tagged = { ETag: 'DocumentTag' } as const;

/** The description itself. */
const descriptionPaths: Paths = {
  '/api/openapi.json': {
    get: operation({
      id: 'describe',
      tag: 'description',
      summary: 'This document; for superusers with the collections of the instance',
      parameters: ['Fields', 'IfNoneMatch'],
      answers: {
        200: jsonAnswer(
          'A document in the form of OpenAPI 3.1.',
          { type: 'object', additionalProperties: true },
          tagged,
        ),
        304: emptyAnswer('The document is as `If-None-Match` knows it.', tagged),
      },
    }),
  },
};
