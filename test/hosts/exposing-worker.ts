/** A host that asks for the metrics of the front, and sends back whether it got any. */
import { parentPort } from 'node:worker_threads';
import type { FromHost, ToHost } from '../../src/hosts/host-messages.ts';

function post(message: FromHost): void {
  parentPort?.postMessage(message, []);
}

parentPort?.on('message', (message: ToHost) => {
  if (message.kind === 'exposition')
    post({
      kind: 'closed',
      id: typeof message.exposition,
      times: { webhooks: undefined, upkeep: undefined },
    });
  if (message.kind === 'stop') post({ kind: 'stopped', what: 'all' });
});
post({ kind: 'ready' });
post({ kind: 'expose', token: 0 });
