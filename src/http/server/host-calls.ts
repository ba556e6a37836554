import { text } from 'node:stream/consumers';
import { assert } from '../../base/assert.ts';
import { AppError, type ErrorEnvelope } from '../../base/errors.ts';
import { readIpAddress } from '../../base/ip-address.ts';
import type { Ledger } from '../../base/ledger.ts';
import type { InstanceEntry } from '../../instances/instance-rows.ts';
import type { InstanceCall, InstanceCalls } from '../../operator/instance-calls.ts';
import type { Answer } from '../answer.ts';
import { codeOfStatus, FailedAnswer } from '../error-response.ts';
import type { InstanceHost } from '../host/instance-host.ts';
import type { InstanceRoute } from '../route.ts';
import { type CallCause, InternalRequest } from './internal-request.ts';
import { instanceRoutes } from './routes.ts';

export interface HostCallsParts {
  readonly host: InstanceHost;
  readonly routes: ReadonlyMap<string, InstanceRoute>;
  readonly cause: CallCause;
  readonly ledger: Ledger;
}

/** Sends the operator's requests to the hosts of instances. */
export class HostCalls implements InstanceCalls {
  readonly #parts: HostCallsParts;

  constructor(parts: HostCallsParts) {
    this.#parts = parts;
  }

  async call(entry: InstanceEntry, call: InstanceCall): Promise<unknown> {
    const { host, routes, cause, ledger } = this.#parts;
    const route = routes.get(call.operation);
    assert(route !== undefined, 'the operator calls operations that there are');
    const request = new InternalRequest(route, call, { entry, cause, ledger });
    try {
      const json = await textOf(await host.serve(route, request));
      return json === '' ? undefined : JSON.parse(json);
    } catch (error) {
      throw error instanceof FailedAnswer ? toAppError(error) : error;
    } finally {
      request.release();
    }
  }

  release(entry: InstanceEntry): Promise<void> {
    return this.#parts.host.release(entry.id);
  }
}

/** Returns how a job makes requests to instances, in the name of whoever asked for it at an address. */
export function callsFrom(address: string, parts: Pick<HostCallsParts, 'host' | 'ledger'>): InstanceCalls {
  const cause = { origin: 'http://localhost', peer: readIpAddress(address) ?? noAddress };
  return new HostCalls({ ...parts, routes: instanceRoutes, cause });
}

/** Of a command on the machine of the data. */
const noAddress = new Uint8Array(4);

async function textOf({ json, texts, content }: Answer): Promise<string> {
  if (content?.body === undefined) return json ?? texts?.join('') ?? '';
  const { body } = content;
  return body instanceof Uint8Array ? Buffer.from(body).toString() : text(body);
}

/** Returns the error that a host in another thread has answered with. */
function toAppError({ answer }: FailedAnswer): unknown {
  const code = codeOfStatus(answer.status);
  if (code === undefined) return new FailedAnswer(answer);
  // Every error has this body (error-response.ts).
  const { message, data } = JSON.parse(answer.body) as ErrorEnvelope;
  const { retryAfter } = answer;
  return new AppError(code, message, { details: data, ...(retryAfter !== undefined && { retryAfter }) });
}
