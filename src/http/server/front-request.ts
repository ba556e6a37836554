import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { InstanceEntry } from '../../instances/instance-rows.ts';
import { peerAddress } from '../client-address.ts';
import {
  type FormReading,
  type InstanceRequest,
  reportOf,
  type RequestReport,
  type ReservedMemory,
} from '../instance-request.ts';
import type { FormEntry } from '../parse-multipart.ts';
import { queryOf } from '../request.ts';
import { readForm } from './read-form.ts';
import { answerMemory } from './send-answer.ts';

/** A request that came over a connection, as hosts see it. */
export class FrontRequest implements InstanceRequest {
  readonly entry: InstanceEntry;
  readonly isOperator = false;
  readonly report: RequestReport;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;

  constructor(request: FastifyRequest, reply: FastifyReply, entry: InstanceEntry) {
    this.#request = request;
    this.#reply = reply;
    this.entry = entry;
    this.report = reportOf(request);
  }

  get id(): string {
    return this.#request.id;
  }

  get method(): string {
    return this.#request.method;
  }

  get url(): string {
    return this.#request.raw.url ?? '';
  }

  get fullUrl(): string {
    const { protocol, host, originalUrl } = this.#request;
    return `${protocol}://${host}${originalUrl}`;
  }

  get headers(): IncomingHttpHeaders {
    return this.#request.headers;
  }

  get params(): Readonly<Record<string, string>> {
    // In Fastify all path parameters are strings.
    return this.#request.params as Readonly<Record<string, string>>;
  }

  get query(): URLSearchParams {
    return queryOf(this.#request);
  }

  get peer(): Uint8Array {
    return peerAddress(this.#request.raw.socket);
  }

  get startedMs(): number {
    return this.#request.startedMs;
  }

  get signal(): AbortSignal {
    return this.#request.raw.signal;
  }

  get isGone(): boolean {
    return this.#request.raw.socket.destroyed;
  }

  get bytes(): Buffer | undefined {
    const { body } = this.#request;
    return Buffer.isBuffer(body) ? body : undefined;
  }

  get bodyBytes(): number {
    return this.#request.bodyBytes;
  }

  get isFormWaiting(): boolean {
    return this.#request.isFormWaiting;
  }

  memoryFor(client: string): ReservedMemory {
    return answerMemory(this.#request, client);
  }

  readForm(reading: FormReading): Promise<readonly FormEntry[] | undefined> {
    return readForm(this.#request, this.#reply, reading);
  }
}
