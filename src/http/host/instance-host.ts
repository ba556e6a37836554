import type { InstanceEntry } from '../../instances/instance-rows.ts';
import type { Answer } from '../answer.ts';
import type { ClientTraces } from '../client-address.ts';
import type { InstanceRequest } from '../instance-request.ts';
import type { InstanceRoute } from '../route.ts';
import type { LoggedRequest } from './log-request.ts';

/**
 * Runs instances: their database, rules, definitions, webhooks and realtime clients. Where it runs them, in this thread or in others, is
 * its own affair (local-host.ts, hosts/).
 */
export interface InstanceHost {
  /** Serves a request to an instance. Throws AppError for what is refused. */
  serve(route: InstanceRoute, request: InstanceRequest): Promise<Answer>;
  /** Logs a request that was refused before it came to its instance, if that is open. */
  logRefusal(entry: InstanceEntry, request: LoggedRequest, error: unknown): void;
  /** Returns the address of a client before its instance takes the request: as far as is known which headers of proxies it trusts. */
  addressBefore(entry: InstanceEntry | null, traces: ClientTraces): Uint8Array;
  /** Closes an instance that nobody is to use any more, because it is not kept. Throws unavailable where it cannot be closed. */
  release(instanceId: string): Promise<void>;
  /** Returns the sites that may show the dashboard of the instance in a frame; none where its settings cannot be read. */
  frameAncestors(entry: InstanceEntry): Promise<readonly string[]>;
}
