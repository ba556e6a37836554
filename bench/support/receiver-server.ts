/** Takes every POST and answers 200, after so many milliseconds as its argument says; GET / tells how many it has taken. */
import { createServer } from 'node:http';

const delayMs = Number(process.argv[2] ?? 0);
let taken = 0;
const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(String(taken));
    return;
  }
  request.resume();
  request.on('end', () => {
    taken += 1;
    if (delayMs === 0) response.end('ok');
    else setTimeout(() => response.end('ok'), delayMs);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null)
    process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.once('SIGTERM', () => process.exit(0));
