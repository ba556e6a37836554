import type { JsonObject } from '../base/json.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';

/** A request to a route of an instance, which is the operator's. */
export interface InstanceCall {
  /** The id of the operation: `createApiKey`. */
  readonly operation: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonObject | undefined;
}

/** How the operator acts inside instances: by their ordinary routes, with all of their checks, in the host that runs the instance. */
export interface InstanceCalls {
  /** Returns the answer as JSON. Throws AppError as the route does; the details are those of the answer. */
  call(entry: InstanceEntry, call: InstanceCall): Promise<unknown>;
  /** Closes an instance that nobody is to use any more. */
  release(entry: InstanceEntry): Promise<void>;
}
