/** A host whose requests can be made to block, fill or end its thread: by the header `x-fault`. */

import { existsSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { AppError } from '../../src/base/errors.ts';
import type { HostSettings } from '../../src/hosts/host-messages.ts';
import { runHost } from '../../src/hosts/run-host.ts';
import type { InstanceHost } from '../../src/http/host/instance-host.ts';

if (parentPort === null) throw new Error('faulty-host-worker.ts runs as a worker thread only');

function fault(kind: string): Promise<void> | undefined {
  const [name, amount = '0'] = kind.split(' ');
  switch (name) {
    case 'block':
      // Until the test makes this file.
      while (!existsSync(amount)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      return undefined;
    case 'fill': {
      const kept: unknown[] = [];
      for (;;) kept.push(Array.from({ length: 100_000 }, (_, index) => ({ index })));
    }
    case 'exit':
      return process.exit(1);
    case 'work': {
      // Of the processor.
      const before = process.threadCpuUsage();
      for (;;) {
        const { user, system } = process.threadCpuUsage(before);
        if (user + system >= Number(amount) * 1_000) return undefined;
      }
    }
    case 'uncloneable':
      return undefined;
    default:
      throw new AppError('bad_request', `There is no fault ${kind}.`);
  }
}

// A function cannot be sent to another thread. No route has such a header.
const uncloneable = { 'x-a': () => 'a' } as unknown as Record<string, string>;

function faulty(host: InstanceHost): InstanceHost {
  return {
    serve: async (route, request) => {
      const kind = request.headers['x-fault'];
      const before = typeof kind === 'string' && !kind.startsWith('after ') ? fault(kind) : undefined;
      if (before !== undefined) await before;
      const answer = await host.serve(route, request);
      if (typeof kind === 'string' && kind.startsWith('after ')) await fault(kind.slice('after '.length));
      return kind === 'after uncloneable' ? { ...answer, headers: uncloneable } : answer;
    },
    logRefusal: (entry, request, error) => host.logRefusal(entry, request, error),
    addressBefore: (entry, traces) => host.addressBefore(entry, traces),
    release: (id) => host.release(id),
    frameAncestors: (entry) => host.frameAncestors(entry),
  };
}

// Only host-thread.ts starts this file, with these settings.
await runHost(parentPort, workerData as HostSettings, { wrapHost: faulty });
