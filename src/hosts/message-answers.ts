import type { MessagePort } from 'node:worker_threads';
import type { Answer } from '../http/answer.ts';
import { FailedAnswer } from '../http/error-response.ts';
import type { Connection } from '../realtime/client.ts';
import type { AnswerMessage } from './host-messages.ts';
import { PortReader } from './port-streams.ts';

/** Turns the message of a host into the answer that it stands for. Throws FailedAnswer for that to a request that failed. */
export function fromAnswerMessage(answer: AnswerMessage['answer']): Answer {
  switch (answer.kind) {
    case 'failed':
      throw new FailedAnswer(answer.error);
    case 'text':
      return { ...headOf(answer), json: answer.json };
    case 'bytes': {
      const { bytes: body } = answer;
      return { ...headOf(answer), content: { length: body.length, body, ...ofFile(answer) } };
    }
    case 'stream': {
      const body = answer.port && new PortReader(answer.port);
      return { ...headOf(answer), content: { length: answer.length, body, ...ofFile(answer) } };
    }
    default:
      return { ...headOf(answer), open: (connection) => connect(answer.port, connection) };
  }
}

/** Ends an answer that nobody waits for any more, so that its host does not wait either. */
export function closeAnswer(answer: AnswerMessage['answer']): void {
  if ('port' in answer) answer.port?.close();
}

function headOf({ status, headers }: Exclude<AnswerMessage['answer'], { kind: 'failed' }>): Answer {
  return { status, ...(headers !== undefined && { headers }) };
}

function ofFile({ isFile }: { readonly isFile: boolean }): { readonly isFile?: true } {
  return isFile ? { isFile } : {};
}

/** A connection with so many unsent bytes is not written to; they wait in the host, which ends it when they are too many. */
const unsentBytesMax = 64 * 1024;

/** Writes what a host sends to a realtime client. Returns what is called when the connection is closed. */
function connect(port: MessagePort, connection: Connection): () => void {
  const reader = new PortReader(port);
  reader.on('data', (bytes: Buffer) => {
    // Each piece is one message of the host, and so whole characters.
    connection.write(bytes.toString('utf8'));
    if (connection.unsentBytes < unsentBytesMax) return;
    reader.pause();
    void connection.drained().then(() => reader.resume());
  });
  reader.once('end', () => connection.end());
  // The host has cut it off, or has ended.
  reader.once('error', () => connection.disconnect());
  return () => reader.destroy();
}
