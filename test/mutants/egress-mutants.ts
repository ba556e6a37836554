import type { Mutant } from './mutant.ts';

const keyTests = ['test/api/webhook-signing-keys.test.ts'];
const kitTests = ['kit/src/public-key.test.ts'];
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
  {
    name: 'a key before a rotation signs and is published only while that overlaps',
    file: 'src/endpoints/signing-keys.ts',
    from: 'return previous !== null && nowMs < fromTimestamp(previousUntil)',
    to: 'return previous !== null && nowMs > 0',
    tests: keyTests,
  },
  {
    name: 'other processes learn of a rotation of the key',
    file: 'src/deliveries/endpoints/rotate-signing-key.ts',
    from: 'if (endpoint.ed25519)',
    to: "if (endpoint.id === '')",
    tests: keyTests,
  },
  {
    name: 'the JWK Set has no private key',
    file: 'src/endpoints/signing-keys.ts',
    from: '({ id, x }) => ({ ...members, kid: id, x })',
    to: '({ id, x, d }) => ({ ...members, kid: id, x, d })',
    tests: keyTests,
  },
  {
    name: 'the private key of signatures is sealed',
    file: 'src/endpoints/signing-keys.ts',
    from: '${sealer.seal(JSON.stringify(keys), place)}',
    to: '${JSON.stringify({ ...keys, sealed: sealer.seal(JSON.stringify(keys), place) })}',
    tests: keyTests,
  },
  {
    name: 'a public key is no secret of an endpoint',
    file: 'src/sending/signature.ts',
    from: 'if (/^wh[ps]k_/.test(text))',
    to: 'if (/^wh[xy]k_/.test(text))',
    tests: keyTests,
  },
  {
    name: 'the kit takes no public key for a secret',
    file: 'kit/src/signature.ts',
    from: 'if (/^wh[ps]k_|^-----BEGIN /.test(secret))',
    to: 'if (/^wh[xy]k_/.test(secret))',
    tests: kitTests,
  },
  {
    name: 'with a public key the kit looks at asymmetric signatures alone',
    file: 'kit/src/verify.ts',
    from: 'if (publicKey !== undefined) return',
    to: 'if (publicKey === null) return',
    tests: kitTests,
  },
  {
    name: 'the kit verifies the signature by the public key',
    file: 'kit/src/signature.ts',
    from: 'if (await crypto.subtle.verify(algorithm, imported, bytes, content)) return true;',
    to: 'if (await crypto.subtle.verify(algorithm, imported, bytes, content) || bytes.length > 0) return true;',
    tests: kitTests,
  },
];
