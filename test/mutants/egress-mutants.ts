import type { Mutant } from './mutant.ts';

const certificateTests = ['test/api/webhook-certificates.test.ts'];
const tlsTests = ['src/sending/receiver-tls.test.ts'];
const proxyTests = ['src/sending/webhook-proxy.test.ts'];

/** What the operator's proxy gets of requests to receivers and what it may not do, and which certificates a receiver and an endpoint see. */
export const egressMutants: readonly Mutant[] = [
  {
    name: 'a proxy gets the checked address and no name',
    file: 'src/network/guarded-connect.ts',
    from: 'return openTunnel(guard.proxy, address, {',
    to: 'return openTunnel(guard.proxy, target.host, {',
    tests: proxyTests,
  },
  {
    name: 'a proxy is used where one is set',
    file: 'src/network/guarded-connect.ts',
    from: 'if (guard.proxy !== undefined)',
    to: 'if (guard.proxy === null)',
    tests: proxyTests,
  },
  {
    name: 'a proxy does not answer in the name of a receiver',
    file: 'src/network/proxy-tunnel.ts',
    from: 'return answer.length === end + 4',
    to: 'return answer.length >= end + 4',
    tests: proxyTests,
  },
  {
    name: "the operator's webhooks go through the proxy",
    file: 'src/operator/operator-control.ts',
    from: 'openSender({ policy, egress, clock, logger })',
    to: 'openSender({ policy, clock, logger })',
    tests: ['test/api/webhook-egress.test.ts'],
  },
  {
    name: 'no endpoint is disabled while the proxy fails',
    file: 'src/deliveries/lane.ts',
    from: "result.kind === 'proxy' ? context.now : this.#stored.since",
    to: "result.cause === '' ? context.now : this.#stored.since",
    tests: ['src/deliveries/lane.test.ts'],
  },
  {
    name: 'a client certificate goes to no other server than the one for which it was set',
    file: 'src/endpoints/endpoint.ts',
    from: "return !isJsonObject(sent) || sent['key'] === maskedValue;",
    to: 'return false;',
    tests: certificateTests,
  },
  {
    name: 'the key of a client certificate is masked',
    file: 'src/sending/client-certificate.ts',
    from: '{ ...client, key: maskedValue }',
    to: '{ ...client }',
    tests: certificateTests,
  },
  {
    name: 'a private key is not taken for a certificate, which is shown',
    file: 'src/sending/client-certificate.ts',
    from: "if (raw.includes('PRIVATE KEY'))",
    to: "if (raw.includes('PUBLIC KEY'))",
    tests: certificateTests,
  },
  {
    name: 'a key fits its certificate',
    file: 'src/secrets/read-certificates.ts',
    from: 'if (!certificate.checkPrivateKey(key))',
    to: 'if (certificate.raw.length === 0)',
    tests: certificateTests,
  },
  {
    name: 'a certificate whose key is weak is refused',
    file: 'src/secrets/read-certificates.ts',
    from: 'if (!isStrong)',
    to: "if (type === 'dsa')",
    tests: certificateTests,
  },
  {
    name: 'an endpoint with authorities of its own trusts no others',
    file: 'src/sending/guarded-agent.ts',
    from: '...(trusted !== undefined && { ca: trusted }),',
    to: "...(trusted !== undefined && client === null && ca === '' && { ca: trusted }),",
    tests: tlsTests,
  },
  {
    name: 'other certificates make other connections',
    file: 'src/sending/guarded-agent.ts',
    from: 'cached.url === url && isSameTls(cached.tls, tls)',
    to: 'cached.url === url',
    tests: tlsTests,
  },
  {
    name: 'an attempt uses the certificates of its endpoint',
    file: 'src/sending/attempt.ts',
    from: 'checkOut(endpointId, url, tls)',
    to: 'checkOut(endpointId, url)',
    tests: tlsTests,
  },
  {
    name: 'an alert about a certificate is sent once, whatever the number of nodes',
    file: 'src/deliveries/certificate-alerts.ts',
    from: 'AND certificate_alert <> ${mark} AND',
    to: 'AND',
    tests: ['test/api/webhook-certificate-ends.test.ts'],
  },
  {
    name: 'an instance that nobody uses is opened for an alert about a certificate',
    file: 'src/start-due-work.ts',
    from: 'await readCertificatesDue(instance),',
    to: '',
    tests: ['test/api/webhook-certificate-ends.test.ts'],
  },
  {
    name: 'a deleted endpoint keeps no key',
    file: 'src/endpoints/endpoint-store.ts',
    from: 'client_certificate = NULL, ',
    to: '',
    tests: certificateTests,
  },
];
