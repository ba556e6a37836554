import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { httpLimits } from '../connections.ts';
import type { FormReading } from '../instance-request.ts';
import { checkCharset, type FormEntry, parseMultipart } from '../parse-multipart.ts';
import { type BodyMemory, tooLarge } from '../read-body.ts';
import type { UnfinishedBodies, UnfinishedBody } from '../unfinished-bodies.ts';
import { bodyMemory } from './accept-bodies.ts';

/** Reads a form that the route of its request was waiting for; see `InstanceRequest.readForm`. */
export async function readForm(
  request: FastifyRequest,
  reply: FastifyReply,
  { bytesMax, takeFile }: FormReading,
): Promise<readonly FormEntry[] | undefined> {
  const { raw, headers, server } = request;
  const announced = Number(headers['content-length'] ?? 0);
  if (announced > bytesMax) {
    // What is not read is not waited for.
    reply.header('connection', 'close');
    throw tooLarge();
  }
  const contentType = headers['content-type'] ?? '';
  checkCharset(contentType);
  const form = new FormBytes(raw, { bytesMax, memory: bodyMemory(request) });
  try {
    return await parseMultipart(raw, contentType, {
      signal: form.signal,
      onBuffered: (bytes) => form.hold(bytes),
      takeFile: async (file) => {
        const bytes = await takeFile(file);
        server.requestCounts.receivedFileBytes += bytes;
      },
    });
  } catch (error) {
    // Some clients name the type of a body that they do not send.
    if (form.bytes > 0 || !raw.complete) throw error;
    return undefined;
  } finally {
    request.bodyBytes = form.bytes;
    form.end();
  }
}

interface FormLimits {
  readonly bytesMax: number;
  readonly memory: BodyMemory;
}

/** Bounds what a form may cost while it is read: its bytes, and the memory of its fields, also together with the bodies of other clients. */
class FormBytes {
  readonly #abort = new AbortController();
  readonly #raw: IncomingMessage;
  readonly #bytesMax: number;
  #bytes = 0;
  #heldBytes = 0;
  readonly #bodies: UnfinishedBodies;
  readonly #body: UnfinishedBody;

  constructor(raw: IncomingMessage, { bytesMax, memory }: FormLimits) {
    this.#raw = raw;
    this.#bytesMax = bytesMax;
    this.#bodies = memory.bodies;
    this.#body = memory.bodies.begin(memory.share, (error) => this.#abort.abort(error));
    raw.on('data', this.#count);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The bytes that have come in. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts bytes of fields, which are held in memory. */
  hold(bytes: number): void {
    this.#heldBytes += bytes;
    if (this.#heldBytes > httpLimits.bodyBytesMax) this.#abort.abort(tooLarge());
    else this.#bodies.receive(this.#body, this.#heldBytes);
  }

  end(): void {
    this.#raw.off('data', this.#count);
    this.#bodies.end(this.#body);
  }

  readonly #count = (piece: Buffer): void => {
    this.#bytes += piece.length;
    if (this.#bytes > this.#bytesMax) this.#abort.abort(tooLarge());
  };
}
