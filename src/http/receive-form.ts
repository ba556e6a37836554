import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JsonObject } from '../base/json.ts';
import type { NewFile } from '../fields/new-file.ts';
import { Uploads } from '../files/uploads.ts';
import type { Instance } from '../instances/instance.ts';
import { type BodyMemory, bodyMemory, tooLarge } from './body.ts';
import { httpLimits } from './connections.ts';
import { formObject, parametersOf } from './parse-form.ts';
import { checkCharset, parseMultipart } from './parse-multipart.ts';
import type { UnfinishedBodies, UnfinishedBody } from './unfinished-bodies.ts';

/** What a route takes of a form with files. */
export interface FormPlan {
  /** Of the whole form. */
  readonly bytesMax: number;
  /** Returns how large a file that is sent under this name may be; undefined for one that is not kept. */
  readonly fileBytesMax: (name: string) => number | undefined;
  /** Returns the body with files in their places: each has the name that it was sent under. */
  readonly withFiles: (body: JsonObject, files: readonly SentFile[]) => JsonObject;
}

export type SentFile = readonly [name: string, file: NewFile];

/**
 * Reads a form as it comes in: its fields become the body of the request, its files go to the disk. Throws payload_too_large, unavailable,
 * storage_full, and bad_request for what is no form.
 */
export async function receiveForm(
  request: FastifyRequest,
  reply: FastifyReply,
  { plan, instance }: { readonly plan: FormPlan; readonly instance: Instance },
): Promise<void> {
  const { raw, headers } = request;
  const announced = Number(headers['content-length'] ?? 0);
  if (announced > plan.bytesMax) {
    // What is not read is not waited for.
    reply.header('connection', 'close');
    throw tooLarge();
  }
  const contentType = headers['content-type'] ?? '';
  checkCharset(contentType);
  const uploads = new Uploads(instance, { isDigested: headers['idempotency-key'] !== undefined });
  request.uploads = uploads;
  const files: SentFile[] = [];
  const reading = new FormReading(raw, { bytesMax: plan.bytesMax, memory: bodyMemory(request) });
  try {
    const entries = await parseMultipart(raw, contentType, {
      signal: reading.signal,
      onBuffered: (bytes) => reading.hold(bytes),
      takeFile: async ({ name, originalName, content }) => {
        const bytesMax = plan.fileBytesMax(name);
        if (bytesMax === undefined) return passOver(content);
        const file = await uploads.receive({ originalName, content, bytesMax });
        request.server.requestCounts.receivedFileBytes += file.size;
        files.push([name, file]);
      },
    });
    const body = formObject([...parametersOf(request), ...entries], request);
    request.body = files.length === 0 ? body : plan.withFiles(body, files);
  } catch (error) {
    // Some clients name the type of a body that they do not send.
    if (reading.bytes > 0 || !raw.complete) throw error;
  } finally {
    request.bodyBytes = reading.bytes;
    reading.end();
  }
}

async function passOver(content: AsyncIterable<Buffer>): Promise<void> {
  for await (const piece of content) void piece;
}

interface FormLimits {
  readonly bytesMax: number;
  readonly memory: BodyMemory;
}

/** Bounds what a form may cost while it is read: its bytes, and the memory of its fields, also together with the bodies of other clients. */
class FormReading {
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
