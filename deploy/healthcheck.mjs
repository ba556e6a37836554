/**
 * Asks the service in this container whether it is ready, as its variables say where it listens, and ends with 0 or 1: the image has no
 * other client of HTTP. `/api/health` itself is of an instance, and there need be none for this host.
 */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

const { CHANCERY_PORT: port = '8090', CHANCERY_TLS_CERT: certificate = '' } = process.env;
const options = {
  host: '127.0.0.1',
  port,
  path: '/api/health/ready',
  timeout: 4_000,
  // The certificate names the host that clients know, and the other end is this container.
  rejectUnauthorized: false,
};
const request = (certificate === '' ? requestHttp : requestHttps)(options, (response) => {
  console.log(response.statusCode);
  process.exit(response.statusCode === 200 ? 0 : 1);
});
request.on('timeout', () => request.destroy(new Error('no answer within 4 seconds')));
request.on('error', (error) => {
  console.log(error.message);
  process.exit(1);
});
request.end();
