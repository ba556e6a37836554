import type { KeyScope } from '../access/caller.ts';
import type { OperatorScope } from '../operator/operator-keys.ts';
import type { Answer } from './answer.ts';
import type { EndpointKeyUse } from './endpoint-keys.ts';
import type { OperationParts } from './schemas/operation.ts';
import type { BodyValues } from './parse-body.ts';
import type { LabelledRoute } from './rate-limit-labels.ts';
import type { OperatorContext } from './operator-context.ts';
import type { FormPlan } from './receive-form.ts';
import type { RequestContext, ServiceContext } from './request-context.ts';

/**
 * A route is one value: how it is asked for, who may use it, how it is described, and what it does. From the list of them (routes.ts)
 * follow the registration (serve-route.ts), the methods of a path that is known (405), the scopes of API keys, the labels of rate
 * limits (rate-limit-labels.ts), and the description of the service (openapi/).
 */
export type Route = InstanceRoute | ServiceRoute | OperatorRoute;

export interface InstanceRoute<Params = object>
  extends Address, BodyValues, Omit<LabelledRoute, 'paths'>, Omit<OperationParts, 'isOutsideInstances'> {
  readonly kind: 'instance';
  /** The scope that lets an API key use it. Every key may use a route under `any`, which shows it what a guest sees, or more if its scopes allow. */
  readonly scope: KeyScope | 'any';
  /** What an API key that is bound to endpoints may do by it; nothing where this is left out. */
  readonly endpointKeys?: EndpointKeyUse;
  /** The same for an account that may have endpoints of its own, where that is not what such a key may do. */
  readonly owners?: EndpointKeyUse;
  /** It needs the current definitions and settings, whichever node changed them last. */
  readonly isCurrent?: boolean;
  /** Its forms may hold files: what it takes of one. Throws what can be refused before anything of it is read. */
  planForm?(context: FormContext<Params>): FormPlan | Promise<FormPlan>;
  handle(context: RequestContext<Params>): Answer | Promise<Answer>;
  /** Answers while the instance is suspended. Without it, the route is refused then. */
  handleSuspended?(context: ServiceContext): Answer | Promise<Answer>;
}

/** What is known of a request before its body is read. */
export type FormContext<Params = object> = Pick<RequestContext<Params>, 'instance' | 'caller' | 'params'>;

/** A route about the process rather than an instance: nobody is signed in, and nothing is limited or logged. */
export interface ServiceRoute extends Address, Omit<OperationParts, 'isForSuperusers'> {
  readonly kind: 'service';
  readonly isOutsideInstances: true;
  handle(context: ServiceContext): Answer | Promise<Answer>;
}

/**
 * A route of the operator, who stands above the instances: served by the front on every host, but never below `/i/…`, for operator keys alone.
 * Without any such key it is not there.
 */
export interface OperatorRoute<Params = object>
  extends Address, BodyValues, Omit<OperationParts, 'isForSuperusers' | 'isOutsideInstances'> {
  readonly kind: 'operator';
  readonly isForOperator: true;
  /** The scope that lets a key use it; every key may use a route under `any`. */
  readonly scope: OperatorScope | 'any';
  /** It takes as long as an instance is large: its client may wait for longer than a connection may stand still. */
  readonly isSlow?: boolean;
  handle(context: OperatorContext<Params>): Answer | Promise<Answer>;
}

interface Address {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `:name` for parameters. All but the first are aliases of that. */
  readonly paths: readonly string[];
}

/** The parameters of a path by name: `/api/keys/:id` has `id`. */
type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Readonly<Record<Name, string>> & Params<Rest>
  : Path extends `${string}:${infer Name}`
    ? Readonly<Record<Name, string>>
    : object;

type RouteParts<Path extends string> = Omit<InstanceRoute<Params<Path>>, 'kind' | 'paths' | 'scope'> & {
  readonly path: Path | readonly Path[];
  /** `admin` if left out. */
  readonly scope?: KeyScope | 'any';
};

/** Makes a route on an instance. */
export function route<const Path extends string>(parts: RouteParts<Path>): InstanceRoute {
  const { path, scope = 'admin', handle, ...rest } = parts;
  return {
    ...rest,
    kind: 'instance',
    scope,
    paths: [path].flat(),
    handle,
  };
}

type ServiceParts = Omit<ServiceRoute, 'kind' | 'paths' | 'isOutsideInstances'> & { readonly path: string };

/** Makes a route about the process. */
export function serviceRoute({ path, ...rest }: ServiceParts): ServiceRoute {
  return { ...rest, kind: 'service', paths: [path], isOutsideInstances: true };
}

type OperatorParts<Path extends string> = Omit<
  OperatorRoute<Params<Path>>,
  'kind' | 'paths' | 'isForOperator'
> & { readonly path: Path };

/** Makes a route of the operator; its path is given without `/api/operator`. */
export function operatorRoute<const Path extends string>({
  path,
  handle,
  ...rest
}: OperatorParts<Path>): OperatorRoute {
  return { ...rest, kind: 'operator', paths: [`${operatorPrefix}${path}`], isForOperator: true, handle };
}

export const operatorPrefix = '/api/operator';
