import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { InstanceRequest } from '../http/instance-request.ts';
import type { FilePart } from '../http/parse-multipart.ts';
import { type FromForm, toErrorMessage, type ToForm } from './host-messages.ts';
import { PortWriter } from './port-streams.ts';

/** Reads the form of a request for the host that waits for it: its files go over ports of their own as they come in. Never rejects. */
export async function readFormFor(
  request: InstanceRequest,
  bytesMax: number,
  port: MessagePort,
): Promise<void> {
  const takeFile = (file: FilePart): Promise<number> => sendFile(port, file);
  try {
    const fields = await request.readForm({ bytesMax, takeFile });
    send(port, { kind: 'fields', fields, bytes: request.bodyBytes });
  } catch (error) {
    send(port, { kind: 'failed', error: toErrorMessage(error), bytes: request.bodyBytes });
  }
}

async function sendFile(port: MessagePort, { name, originalName, content }: FilePart): Promise<number> {
  const { port1, port2 } = new MessageChannel();
  const writer = new PortWriter(port1);
  const stored = once(port, 'message');
  port.postMessage({ kind: 'file', name, originalName, content: port2 } satisfies ToForm, [port2]);
  await pipeline(content, writer);
  // Only a host holds the other end.
  const [{ size }] = (await stored) as [FromForm];
  if (size === undefined) throw new Error('The host could not take the file.');
  return size;
}

function send(port: MessagePort, message: ToForm): void {
  port.postMessage(message, []);
}
