/**
 * Writes dashboard/src/api/schema.ts, the types of the API as the dashboard calls it, from spec/openapi.json: `npm run dashboard:types`. A test
 * fails when it is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dashboardTypes } from './build/dashboard-types.ts';

const document: unknown = JSON.parse(readFileSync(new URL('../spec/openapi.json', import.meta.url), 'utf8'));
writeFileSync(new URL('../dashboard/src/api/schema.ts', import.meta.url), dashboardTypes(document));
