import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { version } from '../../src/app.ts';
import { routes } from '../../src/http/server/routes.ts';
import { serviceDocument } from '../../src/http/openapi/service-document.ts';
import { routerTable } from '../support/router-table.ts';
import { startService } from '../support/service.ts';

const path = '/api/openapi.json';
const document = serviceDocument(version, routes);

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate({ ...structuredClone(document) });
  assert.ok(valid, JSON.stringify(errors));
});

test('every route stands in the document, and nothing else does', async (t) => {
  const { app } = await startService(t);
  const described = Object.entries(document.paths).flatMap(([route, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${route}`),
  );
  assert.deepEqual(described.toSorted(), routerTable(app));
});

test('every operation has an id of its own, and a parameter for each name in its path', () => {
  const ids = new Set<string>();
  for (const [route, item] of Object.entries(document.paths)) {
    for (const operation of Object.values(item)) {
      assert.ok(!ids.has(operation.operationId), operation.operationId);
      ids.add(operation.operationId);
      const names = (operation.parameters ?? [])
        .map(({ $ref }) => document.components.parameters[String($ref).split('/').at(-1) ?? ''])
        .filter((parameter) => parameter?.['in'] === 'path')
        .map((parameter) => String(parameter?.['name']));
      assert.deepEqual(
        names,
        [...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
        route,
      );
    }
  }
});

test('every reference leads to a part of the document, and every part is referred to', () => {
  const referred = new Set(
    [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)].map(([, to]) => to),
  );
  const { securitySchemes: _, ...kinds } = document.components;
  const parts = Object.entries(kinds).flatMap(([kind, all]) =>
    Object.keys(all).map((name) => `${kind}/${name}`),
  );
  assert.deepEqual(referred, new Set(parts));
});

test('a guest gets the document of the service, and is told when it is still the same', async (t) => {
  const service = await startService(t);
  const answer = await service.request(path);
  assert.equal(answer.status, 200);
  assert.equal(answer.text, JSON.stringify(document));
  assert.equal(answer.json.info.version, version);
  const etag = answer.headers.get('etag') ?? '';
  const again = await service.request(path, { headers: { 'if-none-match': etag } });
  assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', etag]);
});

test('the tag of the document is that of the members asked for', async (t) => {
  const service = await startService(t);
  const { headers } = await service.request(path);
  const etag = headers.get('etag') ?? '';
  const part = await service.request(`${path}?fields=info`, { headers: { 'if-none-match': etag } });
  assert.deepEqual([part.status, part.json], [200, { info: document.info }]);
});
