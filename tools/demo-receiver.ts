/**
 * The receiver of the demo, in a process of its own. It accepts a request only if both checks do, answers 200 or 401, and reports
 * the request to its parent process, with which it ends.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ReceiverMessage, SecretMessage } from './demo/receiver-message.ts';
import { verifyWebhook } from './demo/verify-webhook.ts';

let secret = '';

process.on('message', (message: SecretMessage) => {
  secret = message.secret;
});
process.on('disconnect', () => process.exit(0));

const server = createServer((request, response) => {
  receive(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) {
    tell({ kind: 'listening', url: `http://127.0.0.1:${address.port}` });
  }
});

async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = Buffer.concat(await request.toArray());
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
  const verdicts = verifyWebhook(secret, { headers, body });
  tell({ kind: 'webhook', webhook: { headers, body: body.toString('utf8'), verdicts } });
  response.writeHead(verdicts.byHand && verdicts.byPackage ? 200 : 401).end();
}

function tell(message: ReceiverMessage): void {
  process.send?.(message);
}
