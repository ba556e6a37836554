import { rotateSigningKey } from '../../deliveries/endpoints/rotate-signing-key.ts';
import { jwkSet, publicKeys } from '../../endpoints/signing-keys.ts';
import { jsonAnswer } from '../schemas/operation.ts';
import { objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';
import { savingOf } from './endpoints.ts';

/** How long clients may keep the public keys: much less than a rotation overlaps by default. */
const cached = { 'cache-control': 'public, max-age=300' };

/** The keys of asymmetric signatures: the public ones, and their rotation. */
export const signingKeyRoutes = [
  route({
    method: 'GET',
    path: '/.well-known/jwks.json',
    id: 'getJwks',
    tag: 'webhooks',
    scope: 'any',
    summary: 'Get the public keys that verify webhooks, as a JWK Set',
    description: 'Empty until an endpoint asks for asymmetric signatures.',
    answers: { 200: jsonAnswer('The keys.', schemaReference('JwkSet')) },
    handle: async (context) => {
      const { instance } = context;
      const keys = await instance.endpoints.readSigningKeys(instance.database);
      return context.answer(JSON.stringify(jwkSet(keys, instance.clock.now())), { headers: cached });
    },
  }),
  route({
    method: 'GET',
    path: '/api/webhooks/keys',
    id: 'listSigningKeys',
    tag: 'webhooks',
    isForSuperusers: true,
    scope: 'webhooks:read',
    summary: 'List the public keys of asymmetric signatures',
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('The keys that sign now.', schemaReference('SigningKeyList')) },
    handle: async (context) => {
      const { instance } = context;
      const keys = await instance.endpoints.readSigningKeys(instance.database);
      return context.answer(JSON.stringify({ items: publicKeys(keys, instance.clock.now()) }));
    },
  }),
  route({
    method: 'POST',
    path: '/api/webhooks/keys/rotate',
    id: 'rotateSigningKey',
    tag: 'webhooks',
    isForSuperusers: true,
    scope: 'webhooks:write',
    summary: 'Rotate the key of asymmetric signatures; the previous one also signs for a while',
    parameters: ['Fields'],
    body: schemaReference('SigningKeyRotation'),
    isBodyOptional: true,
    answers: { 200: jsonAnswer('The keys that sign now.', schemaReference('SigningKeyList')) },
    refusals: [409, 413, 415, 507],
    handle: async (context) => {
      const { instance, services, body } = context;
      const keys = await rotateSigningKey(savingOf(context), body);
      services.dispatcher.wake(instance.id);
      return context.answer(JSON.stringify({ items: publicKeys(keys, instance.clock.now()) }));
    },
  }),
];

const text: Schema = { type: 'string' };

export const signingKeySchemas: Readonly<Record<string, Schema>> = {
  JwkSet: objectSchema({
    keys: {
      type: 'array',
      items: objectSchema({
        kty: { type: 'string', const: 'OKP' },
        crv: { type: 'string', const: 'Ed25519' },
        use: { type: 'string', const: 'sig' },
        alg: { type: 'string', const: 'EdDSA' },
        kid: { type: 'string', description: 'Its thumbprint (RFC 7638).' },
        x: { type: 'string', description: 'The public key in base64url.' },
      }),
    },
  }),
  SigningKeyList: objectSchema({
    items: {
      type: 'array',
      items: objectSchema({
        id: { type: 'string', description: 'The `kid` of its JWK.' },
        publicKey: { type: 'string', description: '`whpk_` and base64, as Standard Webhooks has it.' },
        created: text,
        until: { type: 'string', description: 'Until when it signs; empty for the current one.' },
      }),
    },
  }),
  SigningKeyRotation: objectSchema(
    {
      overlapSeconds: {
        type: 'integer',
        minimum: 0,
        maximum: 604_800,
        default: 86_400,
        description: 'How long the previous key also signs.',
      },
    },
    ['overlapSeconds'],
  ),
};
