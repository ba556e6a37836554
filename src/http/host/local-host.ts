import { type Caller, guest, hasScope, operator, reachedEndpoints } from '../../access/caller.ts';
import { withAuthCollection } from '../../auth/auth-collection.ts';
import { authenticate, isPortalSession, tokenRequired } from '../../auth/authenticate.ts';
import { AppError } from '../../base/errors.ts';
import { Uploads } from '../../files/uploads.ts';
import { currentCollection } from '../../instances/current-collection.ts';
import type { Instance } from '../../instances/instance.ts';
import type { InstanceEntry } from '../../instances/instance-rows.ts';
import { clientKey } from '../../limits/rate-limiter.ts';
import { unavailableText } from '../../storage/engine-errors.ts';
import { type Answer, checkFields } from '../answer.ts';
import type { ClientTraces } from '../client-address.ts';
import { httpLimits } from '../connections.ts';
import { requireReached, withOwnEndpoints } from '../endpoint-keys.ts';
import type { InstanceRequest } from '../instance-request.ts';
import { objectOf, parseBody } from '../parse-body.ts';
import { receiveForm } from '../receive-form.ts';
import { RequestContext, type Services } from '../request-context.ts';
import type { InstanceRoute } from '../route.ts';
import { ruleInput } from '../rule-input.ts';
import { byteLengthOf, lengthOf } from '../send-texts.ts';
import type { InstanceHost } from './instance-host.ts';
import { logFailure, type LoggedRequest, logRequest } from './log-request.ts';

/**
 * Runs instances in this thread: opens the instance of a request, finds the caller, holds rate limits and the scopes of API keys, calls the
 * route, and logs the request. It knows nothing of connections: the front (server/) reads requests and sends answers.
 */
export class LocalHost implements InstanceHost {
  readonly #services: Services;

  constructor(services: Services) {
    this.#services = services;
  }

  /** The instance stays open until the operation is over. */
  async serve(route: InstanceRoute, request: InstanceRequest): Promise<Answer> {
    const { instances, isOutdated } = this.#services;
    const { entry } = request;
    // Also for what could be answered from memory.
    if (isOutdated()) throw outdated();
    const loan = instances.borrowOpen(entry.id) ?? (await instances.borrow(entry));
    const exchange = new Exchange(this.#services, request, loan.instance);
    try {
      return await exchange.run(route);
    } catch (error) {
      exchange.logFailure(error);
      throw error;
    } finally {
      await exchange.end();
      loan.release();
    }
  }

  /** Does nothing when the instance is closed: requests for unknown paths must not keep it open. */
  logRefusal(entry: InstanceEntry, request: LoggedRequest, error: unknown): void {
    if (request.report.isNoted) return;
    const { admission, instances } = this.#services;
    const loan = instances.borrowOpen(entry.id);
    if (loan === undefined) return;
    const { instance } = loan;
    const addressOf = (): Uint8Array => admission.addressOf(instance, request);
    logFailure(request, { instance, caller: guest, addressOf }, error);
    loan.release();
  }

  addressBefore(entry: InstanceEntry | null, traces: ClientTraces): Uint8Array {
    return this.#services.admission.addressBefore(entry, traces);
  }

  async release(instanceId: string): Promise<void> {
    const { instances } = this.#services;
    instances.retire(instanceId);
    await instances.closed(instanceId);
  }

  async frameAncestors(entry: InstanceEntry): Promise<readonly string[]> {
    const loan = await this.#services.instances.borrow(entry).catch(() => undefined);
    if (loan === undefined) return [];
    const { frameAncestors } = loan.instance.settings.current.meta;
    loan.release();
    return frameAncestors;
  }
}

function outdated(): AppError {
  return new AppError('unavailable', unavailableText, { retryAfter: 1 });
}

/** One request, from its caller to its answer. */
class Exchange {
  readonly #services: Services;
  readonly #request: InstanceRequest;
  readonly #instance: Instance;
  #caller: Caller = guest;
  #uploads: Uploads | undefined;

  constructor(services: Services, request: InstanceRequest, instance: Instance) {
    this.#services = services;
    this.#request = request;
    this.#instance = instance;
    request.report.address = this.#addressOf;
    request.report.trustedProxy = instance.settings.current.trustedProxy;
  }

  async run(route: InstanceRoute): Promise<Answer> {
    const request = this.#request;
    const instance = this.#instance;
    const { meter } = this.#services;
    meter?.note(instance.id, route.id);
    const { admission, isForOperator } = this.#services;
    const counted = isForOperator === true ? undefined : admission.admitInstance(instance, request);
    if (counted !== undefined) await counted;
    this.#caller = await this.#findCaller(route);
    const caller = this.#caller;
    request.report.caller = caller;
    const admitted = admission.admit(route, { instance, caller, request });
    if (admitted !== undefined) await admitted;
    requireScope(caller, route);
    if (reachedEndpoints(caller) !== null)
      await requireReached(route, { instance, caller, id: request.params['id'] ?? '' });
    if (route.isForSuperusers === true) requireSuperuser(caller);
    const body = await this.#readBody(route);
    meter?.note(instance.id);
    // A record's rule is checked before anything else that is wrong with a request to read it.
    if (!isRecordRead(route)) checkFields(request.query);
    if (route.isCurrent === true) await instance.refresh();
    const answer = await admission.inTurn(instance, request, () =>
      this.#handleOnFullDisk(route, this.#contextWith(body)),
    );
    meter?.note(instance.id);
    const sized = await this.#withMemory(answer);
    logRequest(request, { instance, caller, addressOf: this.#addressOf, status: answer.status });
    return sized;
  }

  logFailure(error: unknown): void {
    const answered = { instance: this.#instance, caller: this.#caller, addressOf: this.#addressOf };
    logFailure(this.#request, answered, error);
  }

  async end(): Promise<void> {
    if (this.#uploads !== undefined) await this.#uploads.discard();
  }

  readonly #addressOf = (): Uint8Array => this.#services.admission.addressOf(this.#instance, this.#request);

  #contextWith(body: unknown): RequestContext {
    const parts = { instance: this.#instance, caller: this.#caller, body, uploads: this.#uploads };
    return new RequestContext(this.#services, this.#request, parts);
  }

  async #findCaller(route: InstanceRoute): Promise<Caller> {
    if (this.#services.isForOperator === true || this.#request.isOperator) return operator;
    const { authorization } = this.#request.headers;
    if (authorization === undefined) return guest;
    return withOwnEndpoints(route, this.#instance, await this.#authenticate(authorization));
  }

  /** Throws unauthorized for an invalid API key or session of a portal, and audits it: somebody is guessing, or has lost theirs. */
  async #authenticate(authorization: string): Promise<Caller> {
    const instance = this.#instance;
    try {
      return await authenticate(instance, authorization);
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthorized') {
        const input = ruleInput(this.#request, { caller: guest, addressOf: this.#addressOf });
        const action = isPortalSession(authorization) ? 'portal.use' : 'key.use';
        instance.audit.note(input, { action, outcome: 'refused' });
      }
      throw error;
    }
  }

  /** Returns the body as a value. Throws bad_request; not_found when the collection does not exist, as that comes first. */
  async #readBody(route: InstanceRoute): Promise<unknown> {
    const request = this.#request;
    if (request.isFormWaiting && route.planForm !== undefined) {
      const plan = await route.planForm(this.#contextWith(undefined));
      const isDigested = request.headers['idempotency-key'] !== undefined;
      const requireRoom = (): void => this.#services.admission.requireDiskRoom(request, 'files');
      this.#uploads = new Uploads(this.#instance, { isDigested, requireRoom });
      return receiveForm(request, { plan, uploads: this.#uploads, values: route });
    }
    if (request.bytes === undefined) return undefined;
    try {
      const body = await parseBody(route, request);
      if (route.body !== undefined && route.takesBytes !== true) objectOf(body);
      return body;
    } catch (error) {
      const { collection } = request.params;
      if (error instanceof AppError && collection !== undefined)
        await this.#requireCollection(route, collection);
      throw error;
    }
  }

  async #requireCollection({ tag }: InstanceRoute, nameOrId: string): Promise<void> {
    if (tag === 'auth') await withAuthCollection(this.#instance, nameOrId, () => Promise.resolve());
    else await currentCollection(this.#instance, nameOrId);
  }

  /**
   * Handles a request. A delete of a superuser for which the disk has no room is handled again in the room that is kept for it: nothing
   * was done, and deleting is what makes room. Writes that come meanwhile wait until it is over.
   */
  async #handleOnFullDisk(route: InstanceRoute, context: RequestContext): Promise<Answer> {
    const { reserve } = this.#services;
    if (reserve?.whole !== undefined && route.method !== 'GET') await reserve.whole;
    try {
      return await route.handle(context);
    } catch (error) {
      const isFull = error instanceof AppError && error.code === 'storage_full';
      const mayUseReserve = route.method === 'DELETE' && this.#caller.kind === 'superuser';
      if (reserve === undefined || !isFull || !mayUseReserve) throw error;
      return reserve.lend(this.#instance.id, async () => route.handle(context));
    }
  }

  /** Reserves memory for a long answer. Throws unavailable where there is none for an answer that need not be sent. */
  async #withMemory(answer: Answer): Promise<Answer> {
    const { json, texts = json === undefined ? undefined : [json], content } = answer;
    if (texts === undefined || content !== undefined) return answer;
    const [only = ''] = texts;
    if (texts.length === 1 && only.length <= httpLimits.smallAnswerBytesMax) return answer;
    const byteLength = await byteLengthOf(texts);
    const isRead = this.#request.method === 'GET' || this.#request.method === 'HEAD';
    const memory = this.#request.memoryFor(clientKey(this.#addressOf()));
    await memory.admitAnswer(lengthOf(texts), { isCertain: !isRead });
    return { ...answer, json: undefined, texts, byteLength };
  }
}

function isRecordRead({ method, tag }: InstanceRoute): boolean {
  return method === 'GET' && tag === 'records';
}

/** Throws forbidden for an API key without the scope that this route needs. Other callers have no scopes. */
function requireScope(caller: Caller, { scope }: InstanceRoute): void {
  if (caller.kind !== 'superuser' || caller.key === undefined) return;
  if (scope !== 'any' && !hasScope(caller, scope))
    throw new AppError('forbidden', `The API key needs the scope ${scope}.`);
}

function requireSuperuser(caller: Caller): void {
  // Whose endpoints are known is in a route for them.
  if (caller.kind === 'superuser' || reachedEndpoints(caller) !== null) return;
  if (caller.kind === 'user')
    throw new AppError('forbidden', 'The authorized record is not allowed to perform this action.');
  throw tokenRequired();
}
