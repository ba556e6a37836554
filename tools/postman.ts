/** Writes spec/postman.json, a Postman collection of what spec/openapi.json describes: `npm run postman`. A test fails when it is stale. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './build/root.ts';
import { postmanCollection, type OpenapiDocument } from './postman/postman-collection.ts';

// The cast holds: a test compares the file with what the routes say.
const document = JSON.parse(readFileSync(join(root, 'spec/openapi.json'), 'utf8')) as OpenapiDocument;
writeFileSync(join(root, 'spec/postman.json'), `${JSON.stringify(postmanCollection(document), null, 2)}\n`);
