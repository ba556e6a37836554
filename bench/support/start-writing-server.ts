import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild, type Child } from './child.ts';
import type { Service } from './service.ts';

/** Starts writing-server.ts on a copy of the service's data, on the service's processor. `bytes` is how long its answers are. */
export async function startWritingServer(service: Service, bytes: number): Promise<Child> {
  const folder = mkdtempSync(join(tmpdir(), 'chancery-writing-'));
  const file = join(folder, 'data.db');
  await service.store.run(`VACUUM INTO '${file}'`);
  const child = await startChild('bench/support/writing-server.ts', [String(bytes), file, 'bench'], {
    core: 0,
  });
  return {
    ...child,
    stop: async () => {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
