/** The ceiling of signing in: `GET /?seconds=3` hashes for so long, as many at once as the processors take, and answers how many there were. */
import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';
import { PasswordHasher } from '../../src/secrets/password.ts';

const passwords = new PasswordHasher();
const share = { instance: 'a', address: '' };
const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '', 'http://localhost');
  void hashFor(Number(searchParams.get('seconds'))).then((answer) => response.end(JSON.stringify(answer)));
});

async function hashFor(seconds: number): Promise<{ readonly count: number; readonly seconds: number }> {
  const startedMs = performance.now();
  let count = 0;
  const hash = async (): Promise<void> => {
    while (performance.now() - startedMs < seconds * 1_000) {
      await passwords.hash('a password of a user', share);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, hash));
  return { count, seconds: (performance.now() - startedMs) / 1_000 };
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null)
    process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.once('SIGTERM', () => process.exit(0));
