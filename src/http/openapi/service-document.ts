import { accountSchemas } from '../routes/accounts.ts';
import { auditSchemas } from '../routes/audit.ts';
import { authSchemas } from '../routes/auth.ts';
import { oauth2Schemas } from '../routes/oauth2.ts';
import { backupSchemas } from '../routes/backups.ts';
import { batchSchemas } from '../routes/batch.ts';
import { collectionSchemas } from '../routes/collection-schemas.ts';
import { deliverySchemas } from '../routes/deliveries.ts';
import { endpointStatsSchemas } from '../routes/endpoint-stats.ts';
import { signingKeySchemas } from '../routes/signing-keys.ts';
import { endpointImportSchemas } from '../routes/endpoint-import.ts';
import { endpointSchemas } from '../routes/endpoint-schemas.ts';
import { eventSchemas } from '../routes/events.ts';
import { catcherSchemas } from '../routes/catchers.ts';
import { feedSchemas } from '../routes/feed.ts';
import { fileSchemas } from '../routes/files.ts';
import { healthSchemas } from '../routes/health.ts';
import { keySchemas } from '../routes/keys.ts';
import { cronSchemas } from '../routes/crons.ts';
import { logSchemas } from '../routes/logs.ts';
import { mailSchemas } from '../routes/mail.ts';
import { recordHistorySchemas } from '../routes/record-history.ts';
import { searchSchemas } from '../routes/search.ts';
import { operatorInstanceSchemas } from '../routes/operator/instances.ts';
import { operatorBackupSchemas } from '../routes/operator/backups.ts';
import { operatorSchemaSchemas } from '../routes/operator/schema.ts';
import { operatorEndpointSchemas } from '../routes/operator/endpoints.ts';
import { operatorUsageSchemas } from '../routes/operator/usage.ts';
import { operatorTransferSchemas } from '../routes/operator/transfers.ts';
import { operatorFeedSchemas } from '../routes/operator/feed.ts';
import { portalLinkSchemas } from '../routes/portal-links.ts';
import { recordSchemas } from '../routes/records.ts';
import { jobSchemas } from '../routes/jobs.ts';
import { replaySchemas } from '../routes/replays.ts';
import { ruleSchemas } from '../routes/rules.ts';
import { settingsSchemas } from '../routes/settings.ts';
import { fillPath } from '../path-patterns.ts';
import type { Route } from '../route.ts';
import { errorSchemas, headers, operation } from '../schemas/operation.ts';
import { parameters } from '../schemas/parameters.ts';
import { refusalResponses } from '../schemas/refusals.ts';
import type { OpenApiDocument, PathItem, Paths } from '../schemas/schema.ts';

const description = `A record service: collections of records with rules, and signed webhooks of every change.

- Every \`GET\` answers \`HEAD\` as well, and \`OPTIONS\` is answered everywhere. A path that is here with another method gets 405 with \`Allow\`, any other path 404.
- Every refusal has the same body: \`{"data":{},"message":"…","status":400}\`. Requests that are not valid HTTP get one too (400, 408, 413, 431).
- A body may also be a form: \`multipart/form-data\`, which may hold files for records and batches, or \`application/x-www-form-urlencoded\`. The members of JSON objects in its fields \`@jsonPayload\` keep their types.
- Dates are texts in UTC: \`2026-11-20 09:35:20.114Z\`; an empty text is none.
- Answers and refusals may get further members. What is here is removed or changes its meaning only in a major version.`;

/** The description of the service with these routes, whatever its instances hold. */
export function serviceDocument(version: string, routes: readonly Route[]): OpenApiDocument {
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
      { name: 'realtime', description: 'Subscriptions to record changes.' },
      { name: 'files', description: 'Files of records.' },
      { name: 'collections', description: 'Fields and rules of records. For superusers.' },
      { name: 'auth', description: 'Sign-in and tokens.' },
      { name: 'webhooks', description: 'Endpoints, events and deliveries. For superusers.' },
      { name: 'keys', description: 'API keys for programs. For superusers.' },
      { name: 'audit', description: 'The audit log. For superusers.' },
      { name: 'settings', description: 'Settings of the instance. For superusers.' },
      { name: 'backups', description: 'Backups of the instance. For superusers.' },
      { name: 'crons', description: 'Scheduled jobs of the instance. For superusers.' },
      { name: 'logs', description: 'The request log. For superusers.' },
      { name: 'health', description: 'Health checks and probes.' },
      {
        name: 'operator',
        description: 'Instances, for the programs of the operator. Never below `/i/{instance}`.',
      },
      { name: 'description', description: 'This document.' },
    ],
    paths: pathsOf(routes),
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
        operatorKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An operator key (`co_…`). It is no credential for instances.',
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
  ...backupSchemas,
  ...recordHistorySchemas,
  ...searchSchemas,
  ...batchSchemas,
  ...fileSchemas,
  ...collectionSchemas,
  ...authSchemas,
  ...oauth2Schemas,
  ...accountSchemas,
  ...endpointSchemas,
  ...endpointImportSchemas,
  ...deliverySchemas,
  ...eventSchemas,
  ...feedSchemas,
  ...catcherSchemas,
  ...endpointStatsSchemas,
  ...signingKeySchemas,
  ...replaySchemas,
  ...jobSchemas,
  ...portalLinkSchemas,
  ...keySchemas,
  ...auditSchemas,
  ...settingsSchemas,
  ...cronSchemas,
  ...logSchemas,
  ...ruleSchemas,
  ...mailSchemas,
  ...healthSchemas,
  ...operatorInstanceSchemas,
  ...operatorTransferSchemas,
  ...operatorUsageSchemas,
  ...operatorBackupSchemas,
  ...operatorSchemaSchemas,
  ...operatorFeedSchemas,
  ...operatorEndpointSchemas,
};

/** Describes routes by their paths. Ids must be unique: that of an alias has an ending. */
function pathsOf(described: readonly Route[]): Paths {
  const paths: Record<string, PathItem> = {};
  for (const route of described)
    for (const [index, path] of route.paths.entries()) {
      const name = fillPath(path, (parameter) => `{${parameter}}`);
      const id = index === 0 ? route.id : `${route.id}ByAlias`;
      paths[name] = { ...paths[name], [route.method.toLowerCase()]: operation({ ...route, id }) };
    }
  return paths;
}
