/** The ceiling of files: `@fastify/static` over a folder on the same Node, and nothing else. Argument: the folder. */
import fastifyStatic from '@fastify/static';
import { fastify } from 'fastify';

const [root = '.'] = process.argv.slice(2);
const app = fastify({ logger: false });
await app.register(fastifyStatic, { root });
process.stdout.write(`${await app.listen({ port: 0, host: '127.0.0.1' })}\n`);
process.once('SIGTERM', () => process.exit(0));
