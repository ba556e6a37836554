/** Writes spec/openapi.json, the description of the service: `npm run openapi`. A test fails when it is stale. */
import { writeFileSync } from 'node:fs';

import { version } from '../src/app.ts';
import { serviceDocument } from '../src/http/openapi/service-document.ts';
import { routes } from '../src/http/routes.ts';

const text = `${JSON.stringify(serviceDocument(version, routes), null, 2)}\n`;
writeFileSync(new URL('../spec/openapi.json', import.meta.url), text);
