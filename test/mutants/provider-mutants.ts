import type { Mutant } from './mutant.ts';

const signIn = ['test/api/provider-sign-in.test.ts'];
const lying = ['test/api/lying-provider.test.ts'];
const options = ['test/api/provider-options.test.ts'];
const popup = ['test/api/provider-popup.test.ts'];
const accounts = 'src/auth/provider-accounts.ts';
const exchange = 'src/providers/exchange-code.ts';

/** Who is signed in by the account of another service. */
export const providerMutants: readonly Mutant[] = [
  {
    name: 'an account is joined by a verified address alone',
    file: accounts,
    from: "if (user.email === '' || !user.isEmailVerified) return undefined;",
    to: "if (user.email === '') return undefined;",
    tests: signIn,
  },
  {
    name: 'an account that had not verified its address is taken from whoever has its password',
    file: accounts,
    from: 'return change({ verified: true, passwordHash });',
    to: 'return change({ verified: true });',
    tests: signIn,
  },
  {
    name: 'a new account is verified only with the address that the provider has verified',
    file: 'src/records/create-record.ts',
    from: 'values[email] === provenEmail;',
    to: 'values[email] !== undefined;',
    tests: signIn,
  },
  {
    name: 'an address that the provider says is not verified is none',
    file: 'src/providers/read-user.ts',
    from: ": { email: '', isVerified: false };\n}",
    to: ': { email: address, isVerified: true };\n}',
    tests: signIn,
  },
  {
    name: 'an ID token is signed by its issuer',
    file: exchange,
    from: 'if (checksIdToken)\n      await protocol.validateApplicationLevelSignature',
    to: 'if (checksIdToken && server.issuer === "")\n      await protocol.validateApplicationLevelSignature',
    tests: lying,
  },
  {
    name: 'an ID token is that of the sign-in of the code verifier',
    file: exchange,
    from: '...(checksIdToken && isNonceExpected && { expectedNonce: exchange.nonce }),',
    to: "...(checksIdToken && isNonceExpected && { expectedNonce: String(claimed['nonce']) }),",
    tests: lying,
  },
  {
    name: 'an ID token has a nonce where the URL had one',
    file: 'src/auth/provider-sign-in.ts',
    from: 'const exchange = { code, codeVerifier, redirectURL, clientSecret, nonce, isNonceRequired };',
    to: 'const exchange = { code, codeVerifier, redirectURL, clientSecret, nonce, isNonceRequired: false };',
    tests: lying,
  },
  {
    name: 'an ID token and the answer for the user are about the same one',
    file: 'src/providers/provider-client.ts',
    from: "if (claims !== undefined && claims['sub'] !== user.id)",
    to: "if (claims !== undefined && claims['sub'] === '')",
    tests: lying,
  },
  {
    name: 'only an issuer that is configured counts',
    file: exchange,
    from: 'issuer === claimed && issuer !== server.issuer',
    to: "issuer !== '' && issuer !== server.issuer",
    tests: lying,
  },
  {
    name: 'a sign-in at a provider can be switched off',
    file: 'src/auth/provider-sign-in.ts',
    from: "requireMethod(collection, 'oauth2');",
    to: '',
    tests: signIn,
  },
  {
    name: 'a code comes with its verifier',
    file: 'src/auth/provider-sign-in.ts',
    from: "const isVerifierMissing = provider?.usesPkce === true && form.codeVerifier === '';",
    to: 'const isVerifierMissing = false;',
    tests: signIn,
  },
  {
    name: 'the secret of a client goes to another endpoint only for whoever knows it',
    file: 'src/collections/decode-oauth2.ts',
    from: 'was.tokenURL === decoded.tokenURL && ',
    to: '',
    tests: options,
  },
  {
    name: 'the secret of a client goes to another issuer only for whoever knows it',
    file: 'src/collections/decode-oauth2.ts',
    from: ' && was.extra.issuer === decoded.extra.issuer',
    to: '',
    tests: options,
  },
  {
    name: 'the secret of a provider that is removed is deleted',
    file: 'src/http/routes/collections.ts',
    from: 'if (after !== undefined) await deleteProviderSecrets(tx, before, after);',
    to: '',
    tests: options,
  },
  {
    name: 'a user of a provider chooses no value of a field of the service itself',
    file: 'src/auth/new-account-body.ts',
    from: 'field === undefined || field.system ||',
    to: 'field === undefined ||',
    tests: ['test/api/provider-fields.test.ts'],
  },
  {
    name: 'a code goes to a client at the address that it comes from',
    file: 'src/realtime/realtime.ts',
    from: "if (client.address !== message.address) throw new AppError('bad_request', 'Invalid realtime client.');",
    to: '',
    tests: popup,
  },
  {
    name: 'a client gets one code for each time that it waits for one',
    file: 'src/realtime/realtime.ts',
    from: 'client.subscriptions = new Map([...client.subscriptions].filter(([name]) => name !== message.name));',
    to: '',
    tests: popup,
  },
  {
    name: 'an answer of a provider is read up to its limit',
    file: 'src/network/guarded-requests.ts',
    from: 'if (length > bytesMax)',
    to: 'if (length < 0)',
    tests: ['src/providers/provider-requests.test.ts'],
  },
  {
    name: 'a provider lets no superuser in from an address that none may come from',
    file: 'src/http/routes/oauth2.ts',
    from: 'admission.requirePlaceOf(instance, collection, request);',
    to: '',
    tests: signIn,
  },
  {
    name: 'a browser is sent to a URL of http alone',
    file: 'src/providers/provider-client.ts',
    from: "if (!/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))",
    to: "if (endpoint === '')",
    tests: lying,
  },
];
