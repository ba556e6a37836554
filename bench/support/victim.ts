import { type Child, startChild } from './child.ts';
import { makeNeighbour } from './make-neighbour.ts';
import { sampleRecord } from './sample-record.ts';
import type { Service } from './service.ts';

/** What the victim's process (victim-server.ts) asks. */
export interface VictimTarget {
  readonly recordsUrl: string;
  readonly recordId: string;
  readonly liveUrl: string;
  /** Of a create. */
  readonly body: string;
}

/** Milliseconds of each request, and from the answer of a create to the arrival of its webhook. */
export interface VictimTimes {
  readonly view: number[];
  readonly create: number[];
  readonly live: number[];
  readonly webhook: number[];
  /** Requests that were not answered by a 2xx. */
  refused: number;
}

/** An instance of the same process that does little, and measures how long it waits for that. */
export interface Victim {
  begin(): Promise<void>;
  end(): Promise<VictimTimes>;
  stop(): Promise<void>;
}

export async function startVictim(service: Service): Promise<Victim> {
  const child = await startChild('bench/support/victim-server.ts', []);
  const instance = await makeNeighbour(service);
  await instance.api('/api/webhooks/endpoints', { url: `${child.url}/hook`, maxInFlight: 64 });
  const path = '/api/collections/bench/records';
  const { id } = await instance.api(path, sampleRecord(1));
  const target: VictimTarget = {
    recordsUrl: `${instance.url}${path}`,
    recordId: String(id),
    liveUrl: `${service.url}/api/health/live`,
    body: JSON.stringify(sampleRecord(2)),
  };
  return {
    begin: async () => void (await put(child, '/begin', target)),
    // Its answer has this form.
    end: async () => (await (await put(child, '/end')).json()) as VictimTimes,
    stop: () => child.stop(),
  };
}

function put({ url }: Child, path: string, body?: unknown): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: 'PUT',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
