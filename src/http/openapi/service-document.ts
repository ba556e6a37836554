import { auditPaths, auditSchemas } from './audit-paths.ts';
import { accountPaths, accountSchemas } from './account-paths.ts';
import { authPaths, authSchemas } from './auth-paths.ts';
import { batchPaths, batchSchemas } from './batch-paths.ts';
import { collectionPaths } from './collection-paths.ts';
import { collectionSchemas } from './collection-schemas.ts';
import { deliveryPaths } from './delivery-paths.ts';
import { deliverySchemas } from './delivery-schemas.ts';
import { descriptionPaths } from './description-paths.ts';
import type { OpenApiDocument } from './document.ts';
import { endpointPaths } from './endpoint-paths.ts';
import { endpointSchemas } from './endpoint-schemas.ts';
import { errorSchemas } from './error-schemas.ts';
import { headers } from './headers.ts';
import { healthPaths, healthSchemas } from './health-paths.ts';
import { keyPaths, keySchemas } from './key-paths.ts';
import { logPaths, logSchemas } from './log-paths.ts';
import { mailPaths, mailSchemas } from './mail-paths.ts';
import { parameters } from './parameters.ts';
import { recordPaths } from './record-paths.ts';
import { recordSchemas } from './record-schemas.ts';
import { refusalResponses } from './refusals.ts';
import { setupPaths } from './setup-paths.ts';
import { rulePaths, ruleSchemas } from './rule-paths.ts';
import { settingsPaths, settingsSchemas } from './settings-paths.ts';

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
