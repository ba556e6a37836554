/**
 * Takes every POST and answers 200, after so many milliseconds as its first argument says. Its second argument is how many origins it
 * is: it listens at 127.0.0.1 and, if there are more, at the same port of 127.0.1.0 and so on.
 *
 *   GET /         how many it has taken                        GET /open     how many requests are open, and how many were at the most
 *   GET /notes    of those to /noted, since the last GET of    PUT /silent   from now on it does not answer
 *                 them: [id of the record, arrival in          PUT /failing  from now on it answers 503
 *                 milliseconds since 1970]                     PUT /well     from now on it answers 200, and counts the most anew
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

const [delay = '0', origins = '1'] = process.argv.slice(2);
const delayMs = Number(delay);
let mode = '/well';
let taken = 0;
let open = 0;
let openMost = 0;
let notes: { readonly body: Buffer; readonly at: number }[] = [];

function take(request: IncomingMessage, response: ServerResponse): void {
  const at = performance.timeOrigin + performance.now();
  open += 1;
  openMost = Math.max(openMost, open);
  response.once('close', () => (open -= 1));
  if (request.url === '/noted')
    request.once('data', (body: Buffer) => {
      notes.push({ body, at });
    });
  else request.resume();
  request.once('end', () => {
    if (mode === '/silent') return;
    if (mode === '/well') taken += 1;
    else response.statusCode = 503;
    if (delayMs === 0) response.end('ok');
    else setTimeout(() => response.end('ok'), delayMs);
  });
}

function tell(path: string): string {
  if (path === '/open') return JSON.stringify([open, openMost]);
  if (path !== '/notes') return String(taken);
  const told = notes.map(({ body, at }) => [/"data":\{"id":"(\w+)"/.exec(body.toString('latin1'))?.[1], at]);
  notes = [];
  return JSON.stringify(told);
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { method, url = '' } = request;
  if (method === 'POST') return take(request, response);
  if (method === 'PUT') [mode, openMost] = [url, open];
  response.end(method === 'PUT' ? '' : tell(url));
}

/** Resolves with the port. */
function listen(host: string, at: number): Promise<number> {
  const server = createServer(answer);
  server.keepAliveTimeout = 60_000;
  return new Promise((resolve) => {
    server.listen(at, host, () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) resolve(address.port);
    });
  });
}

const port = await listen('127.0.0.1', 0);
for (let origin = 1; origin < Number(origins); origin += 1) await listen(`127.0.1.${origin - 1}`, port);
process.stdout.write(`http://127.0.0.1:${port}\n`);
process.once('SIGTERM', () => process.exit(0));
