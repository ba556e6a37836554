/**
 * A receiver of webhooks with Express: it keeps the titles of posts, and shows them at /posts.
 *
 *   WEBHOOK_SECRET=whsec_… PORT=3000 node receiver.ts
 */
import type { AddressInfo } from 'node:net';
import { expressHandler } from '@chancery/webhooks/express';
import { RecordOrder } from '@chancery/webhooks/order';
import { MemorySeen } from '@chancery/webhooks/seen';
import express from 'express';

/** The collections that the endpoint is told of, and what this receiver needs of their records. */
interface Records {
  readonly posts: { readonly title: string };
}

const titles = new Map<string, string>();
const app = express();

// Before anything that parses bodies: a signature is over the bytes that came.
app.post(
  '/hook',
  expressHandler<Records>({
    secret: process.env['WEBHOOK_SECRET'] ?? '',
    seen: new MemorySeen(),
    order: new RecordOrder(),
    onWebhook: ({ event, isTruncated }) => {
      if (event.collection !== 'posts') return;
      if (event.event === 'record.delete') titles.delete(event.data.id);
      else titles.set(event.data.id, isTruncated ? '(fetch the record)' : (event.data.title ?? ''));
    },
  }),
);

app.get('/posts', (_request, response) => {
  response.json([...titles].map(([id, title]) => ({ id, title })));
});

const server = app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  // A server that listens on TCP has such an address.
  const { port } = server.address() as AddressInfo;
  console.log(`http://127.0.0.1:${port}`);
});
