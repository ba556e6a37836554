/**
 * The ceiling: an empty Fastify route on the same Node that parses the same JSON body and answers a constant.
 * Arguments: how many bytes the constant has, and its status.
 */
import { fastify } from 'fastify';
import { constantAnswer } from './constant-answer.ts';

const [bytes = '700', status = '200'] = process.argv.slice(2);
const answer = constantAnswer(Number(bytes));
const app = fastify({ logger: false });
const route = (
  _request: unknown,
  reply: { code(status: number): { header(name: string, value: string): { send(body: string): unknown } } },
) => reply.code(Number(status)).header('content-type', 'application/json; charset=utf-8').send(answer);
app.post('/', route);
app.patch('/', route);
app.get('/', route);
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`);
process.once('SIGTERM', () => process.exit(0));
