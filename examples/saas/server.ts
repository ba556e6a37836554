/**
 * A small SaaS: each sign-up gets an instance of its own, made by one call of the operator API, whose webhooks come here.
 *
 *   CHANCERY_URL=http://127.0.0.1:8090 OPERATOR_KEY=co_… PORT=3000 node server.ts
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

const { CHANCERY_URL = 'http://127.0.0.1:8090', OPERATOR_KEY = '', PORT = '3000', PUBLIC_URL } = process.env;

/** What every customer begins with. It is an instance itself, so that you can change it in its dashboard. */
const template = {
  slug: 'starter',
  labels: { kind: 'template' },
  collections: [
    {
      name: 'orders',
      listRule: "@request.auth.id != ''",
      createRule: '',
      fields: [{ name: 'title', type: 'text', required: true }],
    },
  ],
};

interface Customer {
  readonly company: string;
  /** Of the customer's instance. */
  readonly url: string;
  readonly secret: string;
  readonly orders: string[];
}

/** By slug. A real one is in your database; the secret too, or in your vault. */
const customers = new Map<string, Customer>();

interface CreatedInstance {
  readonly url: string;
  readonly endpoints: readonly { readonly secret: string }[];
}

interface Refusal {
  readonly message: string;
  readonly data: object;
}

class Refused extends Error {}

/** Makes an instance. Throws Refused with the reason where the customer can do something about it. */
async function createInstance(body: object, key: string): Promise<CreatedInstance> {
  const response = await fetch(`${CHANCERY_URL}/api/operator/instances`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${OPERATOR_KEY}`,
      'content-type': 'application/json',
      // The form may be sent twice: the instance is made once.
      'idempotency-key': key,
    },
    body: JSON.stringify(body),
  });
  // What the operator API answers.
  const answer = (await response.json()) as CreatedInstance | Refusal;
  if ('url' in answer) return answer;
  throw new Refused(`${answer.message} ${JSON.stringify(answer.data)}`);
}

async function signUp(form: URLSearchParams): Promise<string> {
  const company = form.get('company') ?? '';
  const slug = company
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  const { url, endpoints } = await createInstance(
    {
      slug,
      labels: { plan: 'trial' },
      template: template.slug,
      superuser: { email: form.get('email'), password: form.get('password') },
      endpoints: [{ url: `${publicUrl}/hooks/${slug}`, events: ['record.create'], collections: ['orders'] }],
    },
    form.get('key') ?? '',
  );
  customers.set(slug, { company, url, secret: endpoints[0]?.secret ?? '', orders: [] });
  return slug;
}

/** Whether a webhook is genuine and not old (https://www.standardwebhooks.com). */
function isGenuine({ headers }: IncomingMessage, body: string, secret: string): boolean {
  const [id, seconds, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    String(headers[`webhook-${name}`]),
  );
  if (!(Math.abs(Date.now() / 1000 - Number(seconds)) < 300)) return false;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest();
  return (signatures ?? '').split(' ').some((signature) => {
    const actual = Buffer.from(signature.replace('v1,', ''), 'base64');
    return actual.length === expected.length && timingSafeEqual(actual, expected);
  });
}

interface Answer {
  readonly status: number;
  readonly location?: string;
  readonly html?: string;
}

const form = (problem = ''): string => `<h1>Sign up</h1><p role="alert">${escaped(problem)}</p>
<form method="post" action="/sign-up"><input type="hidden" name="key" value="${randomUUID()}">
<label>Company <input name="company" required></label> <label>E-mail <input name="email" type="email" required></label>
<label>Password <input name="password" type="password" required minlength="8"></label> <button>Sign up</button></form>`;

function page({ company, url, orders }: Customer): string {
  const items = orders.map((title) => `<li>${escaped(title)}</li>`).join('');
  return `<h1>${escaped(company)}</h1><p>Your API is at <a href="${escaped(url)}/_/">${escaped(url)}</a>.</p><ul>${items}</ul>`;
}

function escaped(value: string): string {
  return value.replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

async function answer(request: IncomingMessage): Promise<Answer> {
  const [, route = '', slug = ''] = (request.url ?? '').split('/');
  const line = `${request.method} /${route}`;
  if (line === 'GET /') return { status: 200, html: form() };
  if (line === 'POST /sign-up') {
    try {
      return {
        status: 303,
        location: `/customers/${await signUp(new URLSearchParams(await text(request)))}`,
      };
    } catch (error) {
      if (error instanceof Refused) return { status: 400, html: form(error.message) };
      throw error;
    }
  }
  const customer = customers.get(slug);
  if (customer === undefined) return { status: 404 };
  if (line === 'GET /customers') return { status: 200, html: page(customer) };
  if (line !== 'POST /hooks') return { status: 404 };
  const body = await text(request);
  if (!isGenuine(request, body, customer.secret)) return { status: 401 };
  // Its signature is right: the service has written it.
  const { data } = JSON.parse(body) as { readonly data: { readonly title: string } };
  customer.orders.push(data.title);
  return { status: 204 };
}

function send(response: ServerResponse, { status, location, html }: Answer): void {
  const headers = {
    ...(location && { location }),
    ...(html && { 'content-type': 'text/html; charset=utf-8' }),
  };
  response.writeHead(status, headers).end(html);
}

const server = createServer((request, response) => {
  answer(request).then(
    (result) => send(response, result),
    (error: unknown) => {
      console.error(error);
      send(response, { status: 500 });
    },
  );
});
await new Promise<void>((resolve) => server.listen(Number(PORT), '127.0.0.1', resolve));
// A TCP server that listens has such an address.
const { port } = server.address() as AddressInfo;
const publicUrl = PUBLIC_URL ?? `http://127.0.0.1:${port}`;
// It may be there from an earlier start.
await createInstance(template, 'template').catch((error: unknown) => {
  if (!(error instanceof Refused)) throw error;
});
console.log(publicUrl);
