import { startChild, type Child } from './support/child.ts';
import { compare, type Measurement } from './support/compare.ts';
import { runLoad } from './support/load.ts';
import { engineOf, type BenchOptions } from './support/options.ts';
import { processorTimeUs, processorUsEach } from './support/processor-time.ts';
import { startService } from './support/service.ts';
import { signUp, userPassword } from './support/sign-up.ts';

/** More than 50 that wait would be refused. */
const connections = 16;

/** How many sign-ins a second, against the hashes that the same processor makes when it does nothing else? */
export async function signIn(options: BenchOptions): Promise<void> {
  const { seconds } = options;
  const service = await startService(0, options);
  const { email } = await signUp(service);
  const hashes = await startChild('bench/support/hash-server.ts', [], { core: 0 });
  const url = `${service.url}/api/collections/users/auth-with-password`;
  const body = JSON.stringify({ identity: email, password: userPassword });
  await compare(
    {
      what: 'sign-in (argon2id)',
      engine: engineOf(options),
      rows: 0,
      floor: 0.9,
      ours: () => runLoad({ url, pid: service.pid, method: 'POST', body, connections, seconds }),
      ceiling: () => hashFor(hashes, seconds),
    },
    options,
  );
  await Promise.all([service.stop(), hashes.stop()]);
}

async function hashFor({ url, pid }: Child, seconds: number): Promise<Measurement> {
  const before = processorTimeUs(pid);
  // Our own server answers this.
  const made = (await (await fetch(`${url}/?seconds=${seconds}`)).json()) as {
    readonly count: number;
    readonly seconds: number;
  };
  const processorUs = processorUsEach(pid, before, made.count);
  return { perSecond: made.count / made.seconds, p50Ms: 0, p99Ms: 0, processorUs };
}
