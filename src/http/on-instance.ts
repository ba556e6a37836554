import type { FastifyReply, FastifyRequest, RouteGenericInterface } from 'fastify';
import { auditLogOf } from '../audit/audit-log.ts';
import { authenticate } from '../auth/authenticate.ts';
import { tokenRequired } from '../auth/token-required.ts';
import { AppError, notFound } from '../base/errors.ts';
import { systemClock } from '../base/clock.ts';
import type { InstanceEntry } from '../instances/instance-directory.ts';
import type { Instance } from '../instances/instance.ts';
import type { OpenInstances } from '../instances/open-instances.ts';
import { guest, type Caller } from '../rules/caller.ts';
import { checkFields } from './answer.ts';
import { noteFailure, noteRequest } from './note-request.ts';
import { queryOf } from './query-string.ts';
import { factsOf } from './request-facts.ts';
import { requireScope } from './route-scopes.ts';
import { unreadAnswers } from './unread-answers.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The instance that the host or the path addresses; null when they address none. */
    instanceEntry: InstanceEntry | null;
    /** The same instance once it is open; null before. */
    instance: Instance | null;
    /** When serving began, by `systemClock.monotonic`: the answer may show any state that the data have had since. */
    asOfMs: number;
  }
}

/** Where a request goes and who it comes from. */
export interface RequestContext {
  readonly instance: Instance;
  readonly caller: Caller;
}

/** Writes the answer. */
type Serve<Route extends RouteGenericInterface> = (
  context: RequestContext,
  request: FastifyRequest<Route>,
  reply: FastifyReply,
) => Promise<void>;

type Handler<Route extends RouteGenericInterface> = (
  request: FastifyRequest<Route>,
  reply: FastifyReply,
) => Promise<void>;

/** Makes a route's handler. It opens the request's instance, which stays open until the operation is over. */
export function onInstance<Route extends RouteGenericInterface>(
  instances: OpenInstances,
  serve: Serve<Route>,
): Handler<Route> {
  return async (request, reply) => {
    const entry = request.instanceEntry;
    if (entry === null) throw notFound();
    const loan = instances.borrowOpen(entry.id) ?? (await instances.borrow(entry));
    const { instance } = loan;
    let caller: Caller = guest;
    try {
      request.instance = instance;
      request.asOfMs = systemClock.monotonic();
      const { authorization } = request.headers;
      caller = authorization === undefined ? guest : await authenticated(instance, authorization, request);
      const admitted = request.server.admission.admit(instance, caller, request);
      if (admitted !== undefined) await admitted;
      requireScope(caller, request);
      if (request.bodyProblem !== null) refuseBody(instance, request, request.bodyProblem);
      checkFields(queryOf(request));
      const freed = unreadAnswers.untilFreed();
      if (freed !== undefined) await freed;
      await serve({ instance, caller }, request, reply);
      noteRequest(request, { instance, caller, status: reply.raw.statusCode });
    } catch (error) {
      noteFailure(request, { instance, caller }, error);
      throw error;
    } finally {
      loan.release();
    }
  };
}

/** Throws not_found when the collection does not exist, as that comes first; else the problem of the body. */
function refuseBody({ collections }: Instance, { params }: FastifyRequest<object>, problem: AppError): never {
  // Path parameters are always strings by name.
  const { collection } = params as Readonly<Record<string, string | undefined>>;
  if (collection !== undefined) collections.get(collection);
  throw problem;
}

/** Throws unauthorized for an invalid API key, and audits it: somebody is guessing keys, or has lost theirs. */
async function authenticated(
  instance: Instance,
  authorization: string,
  request: FastifyRequest<object>,
): Promise<Caller> {
  try {
    return await authenticate(instance, authorization);
  } catch (error) {
    if (error instanceof AppError && error.code === 'unauthorized')
      auditLogOf(instance).note(factsOf(request, guest), { action: 'key.use', outcome: 'refused' });
    throw error;
  }
}

/** As {@link onInstance}, for routes that only superusers may use. */
export function onInstanceAsSuperuser<Route extends RouteGenericInterface>(
  instances: OpenInstances,
  serve: Serve<Route>,
): Handler<Route> {
  return onInstance<Route>(instances, (context, request, reply) => {
    if (context.caller.kind === 'superuser') return serve(context, request, reply);
    if (context.caller.kind === 'user')
      throw new AppError('forbidden', 'The authorized record is not allowed to perform this action.');
    throw tokenRequired();
  });
}
