import type { FastifyInstance } from 'fastify';
import { notFound } from '../../base/errors.ts';
import { commonHeaders } from './send-answer.ts';

/** Serves `GET /llms.txt` of every instance: what a program that reads needs to use the API, in the form of llmstxt.org. */
export function serveLlmsText(app: FastifyInstance): void {
  app.get('/llms.txt', async (request, reply) => {
    if (request.instanceEntry === null) throw notFound();
    const headers = { ...commonHeaders(request), 'content-type': 'text/markdown; charset=utf-8' };
    return reply.headers(headers).send(text);
  });
}

/** Its links are relative: an instance may be below a path. */
const text = `# Chancery

> This server keeps records in collections behind a REST API that the official PocketBase SDK speaks, and sends a signed webhook for every change.

Send an API key as \`Authorization: Bearer ck_...\`. A key does what its scopes allow, and 403 names the scope that is missing. Errors are JSON with \`status\`, \`message\` and \`data\`, which has a reason for each wrong value. 429 and 503 say in \`Retry-After\` when to try again; nothing was done.

- List records: \`GET api/collections/{collection}/records?filter=status='open'&sort=-created&perPage=30&fields=id,title&expand=author\`
- View, create, update, delete one: \`GET\`, \`PATCH\`, \`DELETE api/collections/{collection}/records/{id}\`, and \`POST\` without the id
- Filters have \`=\`, \`!=\`, \`>\`, \`>=\`, \`<\`, \`<=\`, \`~\` (contains), \`&&\`, \`||\` and parentheses; texts are in quotes
- Many changes in one transaction: \`POST api/batch\`. Repeat a request safely with the header \`Idempotency-Key\`.

## API

- [OpenAPI](api/openapi.json): every route of this instance, with its collections as far as the caller may see them.
- [MCP](api/mcp): the same as tools for agents, by the Model Context Protocol over HTTP, with an API key; \`?write=true\` for those that change records.
- [Health](api/health): whether the service answers.
`;
