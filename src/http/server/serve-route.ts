import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, guest, hasScope, operator, reachedEndpoints } from '../../access/caller.ts';
import { authenticate, tokenRequired } from '../../auth/authenticate.ts';
import { AppError, notFound } from '../../base/errors.ts';
import type { Instance } from '../../instances/instance.ts';
import { unavailableText } from '../../storage/engine-errors.ts';
import { type Answer, checkFields, sendAnswer } from '../answer.ts';
import { requireReached, withOwnEndpoints } from '../endpoint-keys.ts';
import { logFailure, logRequest } from './log-request.ts';
import { receiveForm } from '../receive-form.ts';
import { queryOf } from '../request.ts';
import { patternOf } from '../request-counts.ts';
import { RequestContext, ServiceContext, type Services } from '../request-context.ts';
import type { InstanceRoute, Route } from '../route.ts';
import { ruleInput } from '../rule-input.ts';

/** Registers a route under all of its paths. */
export function serveRoute(app: FastifyInstance, services: Services, route: Route): void {
  const { method, paths } = route;
  const counts = app.requestCounts.of(route, method);
  const countsOfHead = app.requestCounts.of(route, 'HEAD');
  const count = (request: FastifyRequest): void => {
    request.routeCounts = request.method === 'HEAD' ? countsOfHead : counts;
  };
  const pattern = patternOf(route);
  for (const url of paths) {
    if (route.kind === 'service')
      app.route({
        method,
        url,
        config: { pattern },
        handler: async (request, reply) => {
          count(request);
          try {
            await sendAnswer(request, reply, await route.handle(new ServiceContext(services, request)));
          } finally {
            request.releaseBody?.();
          }
        },
      });
    else
      app.route({
        method,
        url,
        config: {
          pattern,
          jsonLimits: route.jsonLimits,
          formValues: route.formValues,
          takesBytes: route.takesBytes,
          takesFiles: route.planForm !== undefined,
        },
        handler: (request, reply) => {
          count(request);
          return serve(route, services, { request, reply });
        },
      });
  }
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Serves a request to an instance, which stays open until the operation is over. */
async function serve(route: InstanceRoute, services: Services, { request, reply }: Exchange): Promise<void> {
  const entry = request.instanceEntry;
  if (entry === null) throw notFound();
  const { instances } = services;
  // Also for what could be answered from memory.
  if (services.isOutdated()) throw outdated();
  const loan = instances.borrowOpen(entry.id) ?? (await instances.borrow(entry));
  const { instance } = loan;
  let caller: Caller = guest;
  try {
    request.instance = instance;
    const { authorization } = request.headers;
    if (services.isForOperator === true) caller = operator;
    else if (authorization !== undefined)
      caller = await withOwnEndpoints(route, instance, await authenticated(instance, authorization, request));
    request.caller = caller;
    const admitted = request.server.admission.admit(route, { instance, caller, request });
    if (admitted !== undefined) await admitted;
    requireScope(caller, route);
    if (reachedEndpoints(caller) !== null)
      await requireReached(route, { instance, caller, id: idOf(request) });
    if (request.isFormWaiting && route.planForm !== undefined) {
      const context = new RequestContext(services, request, { instance, caller });
      await receiveForm(request, reply, { plan: await route.planForm(context), instance });
    }
    if (request.bodyProblem !== null) refuseBody(instance, request, request.bodyProblem);
    checkFields(queryOf(request));
    if (route.isForSuperusers === true) requireSuperuser(caller);
    if (route.isCurrent === true) await instance.refresh();
    const context = new RequestContext(services, request, { instance, caller });
    const answer = await handleOnFullDisk(route, context);
    const sent = sendAnswer(request, reply, answer);
    if (sent !== undefined) await sent;
    logRequest(request, { instance, caller, status: answer.status });
  } catch (error) {
    logFailure(request, { instance, caller }, error);
    throw error;
  } finally {
    request.answerMemory?.release();
    request.releaseBody?.();
    if (request.uploads !== null) await request.uploads.discard();
    loan.release();
  }
}

function outdated(): AppError {
  return new AppError('unavailable', unavailableText, { retryAfter: 1 });
}

/**
 * Handles a request. A delete of a superuser for which the disk has no room is handled again in the room that is kept for it: nothing was
 * done, and deleting is what makes room. Writes that come meanwhile wait until it is over.
 */
async function handleOnFullDisk(route: InstanceRoute, context: RequestContext): Promise<Answer> {
  const { services, instance, caller } = context;
  const { reserve } = services;
  if (reserve?.whole !== undefined && route.method !== 'GET') await reserve.whole;
  try {
    return await route.handle(context);
  } catch (error) {
    const isFull = error instanceof AppError && error.code === 'storage_full';
    const mayUseReserve = route.method === 'DELETE' && caller.kind === 'superuser';
    if (reserve === undefined || !isFull || !mayUseReserve) throw error;
    return reserve.lend(instance.id, async () => route.handle(context));
  }
}

/** Throws unauthorized for an invalid API key, and audits it: somebody is guessing keys, or has lost theirs. */
async function authenticated(
  instance: Instance,
  authorization: string,
  request: FastifyRequest,
): Promise<Caller> {
  try {
    return await authenticate(instance, authorization);
  } catch (error) {
    if (error instanceof AppError && error.code === 'unauthorized')
      instance.audit.note(ruleInput(request, guest), { action: 'key.use', outcome: 'refused' });
    throw error;
  }
}

/** Throws forbidden for an API key without the scope that this route needs. Other callers have no scopes. */
function requireScope(caller: Caller, { scope }: InstanceRoute): void {
  if (caller.kind !== 'superuser' || caller.key === undefined) return;
  if (scope !== 'any' && !hasScope(caller, scope))
    throw new AppError('forbidden', `The API key needs the scope ${scope}.`);
}

/** Returns what stands for `:id` in the path; empty where nothing does. */
function idOf({ params }: FastifyRequest): string {
  // Path parameters are always strings by name.
  const { id = '' } = params as Readonly<Record<string, string | undefined>>;
  return id;
}

/** Throws not_found when the collection does not exist, as that comes first; else the problem of the body. */
function refuseBody({ collections }: Instance, { params }: FastifyRequest, problem: AppError): never {
  // Path parameters are always strings by name.
  const { collection } = params as Readonly<Record<string, string | undefined>>;
  if (collection !== undefined) collections.get(collection);
  throw problem;
}

function requireSuperuser(caller: Caller): void {
  // Whose endpoints are known is in a route for them.
  if (caller.kind === 'superuser' || reachedEndpoints(caller) !== null) return;
  if (caller.kind === 'user')
    throw new AppError('forbidden', 'The authorized record is not allowed to perform this action.');
  throw tokenRequired();
}
