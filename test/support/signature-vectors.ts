import { readFileSync } from 'node:fs';

export interface SignatureVector {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly id: string;
  readonly timestampSeconds: number;
  readonly body: string;
  readonly serviceSignatures: readonly string[];
  readonly webhookSignature: string;
}

const published = readFileSync(new URL('../../spec/signatures.json', import.meta.url), 'utf8');

/** The published signatures; src/sending/signature.test.ts holds them against independent computations. */
// Our own file; what is missing in it makes the tests fail.
export const { vectors: signatureVectors } = JSON.parse(published) as {
  readonly vectors: readonly SignatureVector[];
};
